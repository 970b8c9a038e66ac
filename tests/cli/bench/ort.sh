# needs: corpus ort
qdq bench "$MODELS/digits/digits_cnn.onnx" "$MODELS/digits/digits_cnn.onnx" --rounds 5 --threads 1
