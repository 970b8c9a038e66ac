qdq strip missing.onnx -o f.onnx
