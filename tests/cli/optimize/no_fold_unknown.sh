qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --no-fold Transpose,Transpoose
