qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq compare conv.onnx conv.onnx --data missing.npz
