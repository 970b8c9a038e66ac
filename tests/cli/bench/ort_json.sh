# needs: ort
cp "$MODELS/digits/digits_cnn.onnx" a.onnx
qdq bench a.onnx --rounds 5 --json
