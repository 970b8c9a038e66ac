qdq copy "$FIXTURES/untidy.onnxtxt" -o m.onnx
qdq optimize - -o out.onnxtxt <m.onnx | head -n 1
