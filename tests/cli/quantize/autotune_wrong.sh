qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq quantize conv.onnx -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?"
}
try -o q.onnx --autotune=fast
try -o q.onnx --autotune quick
try -o q.onnx --autotune --plan p.json
try -o q.onnx --autotune --dry-run
try -o q.onnx --autotune --why conv1
try -o q.onnx --autotune-dir tuned
try -o - --autotune
try -o q.onnx --autotune --autotune-dir conv.onnx
try -o q.onnx --autotune --autotune-dir no/where
try -o q.onnx --no-autotune
ls
