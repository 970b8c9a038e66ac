qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy linear.onnx -o - >out.onnx
cmp linear.onnx out.onnx
