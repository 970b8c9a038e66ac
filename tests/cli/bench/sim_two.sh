qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq bench linear.onnx conv.onnx -e sim:sim.json --rounds 20
