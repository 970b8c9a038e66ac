qdq copy missing.onnx -o out.onnx
code=$?
ls
exit $code
