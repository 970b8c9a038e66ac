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
