# which engine measures, and in which process
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq autotune conv.onnx -o tuned -q "$@" >/dev/null
    echo "$* -> $?"
}
try --engine nonesuch
try --engine sim:none.json
try --engine sim:sim.json --worker ./none
try --engine sim:sim.json --worker /bin/false
try --engine ort --ort-library none.so
try --engine openvino --openvino-library none.so
try --engine sim:sim.json --restart
echo "every process of the engine is the program of --worker"
printf '#!/bin/sh\necho started >>"%s/log"\nexec "%s/qdq-worker" "$@"\n' "$PWD" "$BUILD" >worker.sh
chmod +x worker.sh
try --engine sim:sim.json --worker ./worker.sh --restart
echo "$(wc -l <log) processes: one calibrates, one measures"
sed 's/^{/{"fail": [{"at": "time", "node": "conv1", "hang": 1000}, {"at": "time", "node": "gemm", "hang": 1000}],/' sim.json >hang.json
try --engine sim:hang.json --engine-timeout 0.3 --restart -f --trials 1
grep -o '"crashed": .*' tuned/report.json
