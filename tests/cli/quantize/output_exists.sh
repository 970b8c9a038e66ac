qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
touch q.onnx
qdq quantize conv.onnx -e sim:sim.json -o q.onnx
