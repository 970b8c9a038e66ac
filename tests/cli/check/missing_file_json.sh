qdq check missing.onnx --json
