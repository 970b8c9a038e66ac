qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --check random:1 --engine abacus
