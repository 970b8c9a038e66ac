qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --check random:1 --ort-library ./missing.so
code=$?
ls
exit $code
