cp "$FIXTURES/invalid.onnxtxt" .
qdq check --json invalid.onnxtxt
