qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq extract conv.onnx --outputs scores
