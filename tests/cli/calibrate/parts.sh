# Parts merge to the bytes of one run, in any order; quantize makes the same file of them as of the
# samples.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
c() { qdq calibrate conv.onnx -e sim:sim.json -q --calib nine.npy -f "$@" >/dev/null; }
for method in max entropy percentile mse moving-average auto; do
    c --method $method -o one.json
    for i in 1 2 3; do c --method $method --part $i/3 -o part$i.json; done
    qdq calibrate conv.onnx --merge part3.json part1.json -q -f -o some.json >/dev/null
    qdq calibrate conv.onnx --merge part2.json some.json -q -f -o all.json >/dev/null
    cmp one.json all.json
    qdq quantize conv.onnx -e sim:sim.json -q -f --no-sqnr --method $method --calib nine.npy \
        -o a.onnx --plan-out a.plan >/dev/null
    qdq quantize conv.onnx -e sim:sim.json -q -f --no-sqnr --method $method --cache all.json \
        -o b.onnx --plan-out b.plan >/dev/null
    cmp a.plan b.plan && cmp a.onnx b.onnx && echo "$method: equal"
done
