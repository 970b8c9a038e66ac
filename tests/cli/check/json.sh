qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq check conv.onnx --json
