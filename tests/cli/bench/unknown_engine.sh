qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq bench linear.onnx --engine abacus
