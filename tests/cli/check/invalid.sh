cp "$FIXTURES/invalid.onnxtxt" .
qdq check invalid.onnxtxt
