qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp linear.onnx out.onnx
qdq copy out.onnx -f -o out.onnx
cmp linear.onnx out.onnx
ls
