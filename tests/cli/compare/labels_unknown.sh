# needs: corpus
cp "$FIXTURES/sim.json" .
qdq compare "$MODELS/digits/digits_cnn.onnx" "$MODELS/digits/digits_cnn.onnx" --data "$MODELS/digits/digits_test.npz" --labels nothing -e sim:sim.json 2>&1 | sed "s|$MODELS/||g"
exit "${PIPESTATUS[0]}"
