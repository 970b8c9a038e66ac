# Times that vary by half are told of; few rounds cannot tell.
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
sed 's/"noise": 0.01/"noise": 0.9/' "$FIXTURES/sim.json" >noisy.json
cp "$FIXTURES/sim.json" .
qdq bench linear.onnx -e sim:noisy.json --rounds 40 2>&1 >/dev/null | sed 's/[0-9]*\.[0-9] times/N times/'
qdq bench linear.onnx -e sim:noisy.json --rounds 5 >/dev/null
qdq bench linear.onnx -e sim:sim.json --rounds 40 >/dev/null
