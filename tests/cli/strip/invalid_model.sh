cp "$FIXTURES/unimported.onnxtxt" .
qdq strip unimported.onnxtxt -o out.onnx
echo $?
ls out.onnx 2>/dev/null
true
