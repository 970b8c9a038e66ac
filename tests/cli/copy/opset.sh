qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy linear.onnx -o out.onnx --opset 21 --json
qdq inspect out.onnx --json | grep -A 2 opsets
