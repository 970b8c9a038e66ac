touch report.json
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --report report.json
code=$?
ls
exit $code
