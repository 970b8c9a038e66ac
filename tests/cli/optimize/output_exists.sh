echo mine >out.onnx
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx
code=$?
cat out.onnx
exit $code
