qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --passes default,fold-everything
