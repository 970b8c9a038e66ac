qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq inspect - --json <linear.onnx >a
qdq inspect linear.onnx --json >b
cmp a b
