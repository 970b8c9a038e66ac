cp "$MODELS/digits/digits_cnn.onnx" .
qdq extract digits_cnn.onnx -o part.onnx --inputs x --outputs logits --external-data always --json |
    grep path | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
qdq extract digits_cnn.onnx -o part.onnx --outputs logits
echo $?
qdq extract digits_cnn.onnx -o part.onnx --outputs logits --force
qdq check part.onnx
