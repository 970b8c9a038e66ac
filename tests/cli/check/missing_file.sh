qdq check missing.onnx
