cp "$FIXTURES/conv.onnxtxt" .
qdq inspect conv.onnxtxt
