qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp "$FIXTURES/sim.json" .
qdq bench linear.onnx -e sim:sim.json --rounds 20
