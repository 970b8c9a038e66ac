qdq import q.onnx -o - --json
