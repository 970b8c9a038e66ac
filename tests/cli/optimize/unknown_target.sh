qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --target abacus
