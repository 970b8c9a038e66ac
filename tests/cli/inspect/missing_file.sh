qdq inspect missing.onnx
