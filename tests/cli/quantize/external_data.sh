cp "$MODELS/digits/digits_cnn.onnx" "$FIXTURES/sim.json" .
qdq quantize digits_cnn.onnx -q -e sim:sim.json -o q.onnx --external-data always --json |
    grep path | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
ls | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
qdq check q.onnx
qdq quantize digits_cnn.onnx -q -e sim:sim.json -o q.onnx --external-data always
