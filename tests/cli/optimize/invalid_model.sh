qdq optimize "$FIXTURES/invalid.onnxtxt" -o out.onnx 2>&1 | sed "s|$FIXTURES/||"
exit "${PIPESTATUS[0]}"
