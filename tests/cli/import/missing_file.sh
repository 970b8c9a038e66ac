qdq import missing.onnx -o plan.json
