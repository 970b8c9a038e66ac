qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy - -o - <linear.onnx | cmp - linear.onnx
