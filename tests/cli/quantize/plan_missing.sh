qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq quantize conv.onnx --plan plan.json -o b.onnx
