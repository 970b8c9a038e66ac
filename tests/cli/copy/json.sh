qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy conv.onnx -o out.onnx --json
cmp conv.onnx out.onnx
