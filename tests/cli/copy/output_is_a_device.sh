qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy linear.onnx -f -o /dev/null
code=$?
[ -c /dev/null ] || echo replaced
exit $code
