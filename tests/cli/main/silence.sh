qdq check -qq missing.onnx
