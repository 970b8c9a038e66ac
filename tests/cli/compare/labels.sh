# needs: corpus ort
qdq compare "$MODELS/digits/digits_cnn.onnx" "$MODELS/digits/digits_vit.onnx" --data "$MODELS/digits/digits_test.npz" --labels label --samples 100 --json
