qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq check - <linear.onnx
