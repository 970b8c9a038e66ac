touch m.onnx
qdq inspect m.onnx
