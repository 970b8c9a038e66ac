# Large tensors alone go to the side file; auto keeps the form of the input.
cp "$MODELS/digits/digits_cnn.onnx" in.onnx
qdq copy in.onnx -o out.onnx --external-data always
ls | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
qdq copy out.onnx -o again.onnx
ls | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
qdq copy again.onnx -o one.onnx --external-data never
ls | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
qdq check one.onnx
