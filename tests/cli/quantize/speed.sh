# measures
# What is written is timed in turns with the model as it came, on the target's own engine; the cost
# model has no noise.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
sed 's/"noise": 0.01/"noise": 0/' "$FIXTURES/sim.json" >fast.json
# 8 bits are slower here
sed 's/"int8_us": 30/"int8_us": 300/' fast.json >slow.json
# and here they change nothing: everything costs the same
sed -E 's/"(float|int8)_us": [0-9]+/"\1_us": 0/g' fast.json >same.json
# without rules of some processors
qdq targets ort-cpu | sed 's/"engine": "ort"/"engine": "sim"/; s/"cpu": \["avx2"[^]]*\]/"cpu": ["none"]/' >mine.json
sed '/^  "engine": "sim"/d' mine.json >nobodys.json
q() {
    qdq quantize conv.onnx -f -o q.onnx --calib random:1 --min-sqnr 0 "$@" 2>stderr | grep '^speed'
    echo "exit code ${PIPESTATUS[0]}"
    grep than stderr
}

echo "== faster"
q -e sim:fast.json --target mine.json -t 1
echo "== slower"
q -e sim:slow.json --target mine.json -t 2
echo "== slower with fixed shapes alone"
sed 's/"seed"/"int8_fixed_times": 20, "seed"/' fast.json >open.json
q -e sim:open.json --target mine.json -t 1
echo "== neither"
q -e sim:same.json --target mine.json -t 1
echo "== on an engine that is not the target's"
q -e sim:fast.json
q -e sim:fast.json --target nobodys.json
echo "== not wanted"
q -e sim:fast.json --target mine.json --no-bench
q -e sim:fast.json --target mine.json --dry-run
echo "== without samples that judge"
q -e sim:fast.json --target mine.json -t 1 --no-sqnr
echo "== nothing in 8 bits: no warning"
q -e sim:slow.json --target mine.json -t 1 --exclude '.*'

echo "== a plan: with data, and without it no engine is opened"
qdq quantize conv.onnx -f -o q.onnx -e sim:fast.json --no-bench --plan-out plan.json >/dev/null 2>&1
q -e sim:fast.json --plan plan.json
qdq quantize conv.onnx -f -o q.onnx --plan plan.json --min-sqnr 0 | grep -c '^speed'
sed -i 's/"target": *"ort-cpu"/"target": "elsewhere"/' plan.json
q -e sim:fast.json --plan plan.json

echo "== as JSON"
for args in '-e sim:fast.json --target mine.json' '-e sim:fast.json' \
    '-e sim:fast.json --no-bench'; do
    # shellcheck disable=SC2086
    qdq quantize conv.onnx -f -o q.onnx $args -t 1 --json | tr -d '\n ' |
        grep -o '"speed":\({[^}]*}\|null\)'
done

echo "== open dimensions, and none"
qdq copy "$FIXTURES/open.onnxtxt" -o fixed.onnx --set-shape x=3x2x2
for model in "$FIXTURES/open.onnxtxt" fixed.onnx; do
    qdq quantize "$model" -f -o q.onnx -e sim:fast.json --target mine.json --set 'stay_float=[]' -t 1 |
        grep '^speed'
done

echo "== faster than float, and slower than what the optimizations alone make of it"
# an Identity goes; without it float is faster than 8 bits
sed 's/"int8_us": 30/"int8_us": 130/; s/"ops": {/&"Identity": {"float_us": 200}, /' fast.json \
    >slow.json
sed 's/\[gemm\] g = Gemm <transB = 1> (f/[same] same = Identity(f)\n  [gemm] g = Gemm <transB = 1> (same/' "$FIXTURES/conv.onnxtxt" >same.onnxtxt
qdq copy same.onnxtxt -o conv.onnx -f
q -e sim:slow.json --target mine.json -t 1
q -e sim:slow.json --target mine.json -t 1 --no-optimize
