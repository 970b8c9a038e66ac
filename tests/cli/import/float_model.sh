qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq import conv.onnx -o plan.json --json
