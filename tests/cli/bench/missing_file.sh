cp "$FIXTURES/sim.json" .
qdq bench missing.onnx -e sim:sim.json
