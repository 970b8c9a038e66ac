qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq compare conv.onnx missing.onnx --data random:1
