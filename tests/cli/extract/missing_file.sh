qdq extract missing.onnx -o o.onnx --outputs y
