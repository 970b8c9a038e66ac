qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq extract conv.onnx -o part.onnx
