# needs: ort
cp "$FIXTURES/invalid.onnxtxt" .
qdq bench invalid.onnxtxt
