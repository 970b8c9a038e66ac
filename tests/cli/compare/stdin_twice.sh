qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq compare - - --data random:1 <conv.onnx
