cp "$FIXTURES/sim.json" .
qdq quantize missing.onnx -o q.onnx -e sim:sim.json
