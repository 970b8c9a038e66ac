# Text and back: the same model.
cp "$FIXTURES/linear.onnxtxt" .
qdq copy linear.onnxtxt -o a.onnx
qdq copy a.onnx -o b.onnxtxt
cat b.onnxtxt
qdq copy b.onnxtxt -o b.onnx
cmp a.onnx b.onnx
