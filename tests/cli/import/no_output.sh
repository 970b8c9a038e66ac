qdq import q.onnx
