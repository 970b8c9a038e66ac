cp "$MODELS/digits/digits_cnn.onnx" "$FIXTURES/sim.json" .
qdq quantize digits_cnn.onnx -q -e sim:sim.json -o q.onnx >/dev/null
qdq strip q.onnx -o f.onnx --external-data always --json | grep path |
    sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
qdq strip q.onnx -o f.onnx
echo $?
qdq strip q.onnx -o f.onnx -f --external-data never
qdq check f.onnx
