qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp "$FIXTURES/sim.json" .
echo no >no.onnx
qdq bench linear.onnx no.onnx -e sim:sim.json
