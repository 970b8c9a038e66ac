qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy conv.onnx -o out.onnx --set-shape picture=8x2x6x6
