qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy conv.onnx -o out.onnx --opset 13
code=$?
ls
exit $code
