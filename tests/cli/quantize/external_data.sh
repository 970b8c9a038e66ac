# needs: corpus
cp "$MODELS/digits/digits_cnn.onnx" "$FIXTURES/sim.json" .
qdq quantize digits_cnn.onnx -q -e sim:sim.json -o q.onnx --external-data always --json | grep path
ls
qdq check q.onnx
qdq quantize digits_cnn.onnx -q -e sim:sim.json -o q.onnx --external-data always
