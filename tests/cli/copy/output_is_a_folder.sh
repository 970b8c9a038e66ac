qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
mkdir out
qdq copy linear.onnx -f -o out
