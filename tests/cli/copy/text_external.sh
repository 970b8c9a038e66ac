qdq copy "$FIXTURES/linear.onnxtxt" -o a.onnxtxt --external-data always
