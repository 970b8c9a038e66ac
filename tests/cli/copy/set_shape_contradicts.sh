qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy conv.onnx -o out.onnx --set-shape image=8x3x6x6
code=$?
ls
exit $code
