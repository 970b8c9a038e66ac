qdq strip q.onnx
