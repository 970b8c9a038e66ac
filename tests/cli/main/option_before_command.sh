qdq --json check model.onnx
