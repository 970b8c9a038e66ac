cp "$FIXTURES/linear.onnxtxt" .
qdq copy linear.onnxtxt -o linear.onnxtxt
