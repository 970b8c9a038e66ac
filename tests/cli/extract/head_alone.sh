qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq extract conv.onnx -o part.onnxtxt --outputs features
grep " = " part.onnxtxt | cut -c1-60
