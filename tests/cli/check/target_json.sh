cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt --target ort-cpu --json
