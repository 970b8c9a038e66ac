qdq optimize "$FIXTURES/untidy.onnxtxt"
