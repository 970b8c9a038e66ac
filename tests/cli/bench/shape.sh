qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq bench conv.onnx -e sim:sim.json --rounds 20 --shape image=2x2x6x6
