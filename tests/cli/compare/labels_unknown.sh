cp "$MODELS/digits/digits_cnn.onnx" "$MODELS/digits/digits_test.npz" "$FIXTURES/sim.json" .
qdq compare digits_cnn.onnx digits_cnn.onnx --data digits_test.npz --labels nothing -e sim:sim.json
