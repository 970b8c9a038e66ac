qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq bench conv.onnx -e sim:sim.json --shape image=2x3x6x6
qdq bench conv.onnx -e sim:sim.json --shape image=2x3
