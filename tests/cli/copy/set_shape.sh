qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy conv.onnx -o out.onnx --set-shape image=8x2x6x6
qdq inspect out.onnx --json | sed -n '/"inputs"/,$p'
