qdq optimize missing.onnx -o out.onnx
