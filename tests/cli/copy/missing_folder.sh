qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy linear.onnx -o no/where/out.onnx
code=$?
ls
exit $code
