# needs: corpus
# Large tensors alone go to the side file; auto keeps the form of the input.
cp "$MODELS/digits/digits_cnn.onnx" in.onnx
qdq copy in.onnx -o out.onnx --external-data always
ls
qdq copy out.onnx -o again.onnx
ls
qdq copy again.onnx -o one.onnx --external-data never
ls
qdq check one.onnx
