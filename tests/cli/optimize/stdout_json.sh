qdq optimize "$FIXTURES/untidy.onnxtxt" -o - --json
