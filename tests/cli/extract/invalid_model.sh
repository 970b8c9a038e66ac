cp "$FIXTURES/unimported.onnxtxt" .
qdq extract unimported.onnxtxt --outputs y -o out.onnx
echo $?
ls out.onnx 2>/dev/null
true
