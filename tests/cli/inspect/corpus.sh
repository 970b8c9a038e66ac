qdq inspect "$MODELS/digits/digits_cnn.onnx" --json
