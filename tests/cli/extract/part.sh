qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq extract conv.onnx -o part.onnx --inputs features --outputs g --json
qdq copy part.onnx -o part.onnxtxt
grep -v ir_version part.onnxtxt
