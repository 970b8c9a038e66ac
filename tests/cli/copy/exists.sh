qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp linear.onnx out.onnx
qdq copy linear.onnx -o out.onnx
