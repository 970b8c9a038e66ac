# needs: ort
cp "$MODELS/digits/digits_cnn.onnx" a.onnx
cp a.onnx b.onnx
qdq bench a.onnx b.onnx --rounds 5 --threads 1
