qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cp "$FIXTURES/other.onnxtxt" .
qdq compare conv.onnx other.onnxtxt --data random:1 -e sim:sim.json
