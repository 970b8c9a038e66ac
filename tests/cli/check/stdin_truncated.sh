qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
head -c 100 linear.onnx | qdq check -
