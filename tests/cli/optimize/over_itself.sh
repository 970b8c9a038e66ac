cp "$FIXTURES/untidy.onnxtxt" m.onnxtxt
qdq copy m.onnxtxt -o m.onnx && qdq optimize m.onnx -o m.onnx -f >/dev/null && qdq check m.onnx
