qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq compare conv.onnx conv.onnx --data random:1 -e sim:sim.json --json
