qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --report out.onnx
