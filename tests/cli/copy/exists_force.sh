qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
echo old >out.onnx
qdq copy linear.onnx -f -o out.onnx
cmp linear.onnx out.onnx
