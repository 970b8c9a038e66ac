qdq compare a.onnx b.onnx
