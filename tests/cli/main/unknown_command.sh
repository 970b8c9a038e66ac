qdq quantise model.onnx
