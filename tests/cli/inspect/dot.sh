cp "$FIXTURES/linear.onnxtxt" .
qdq inspect linear.onnxtxt --dot
