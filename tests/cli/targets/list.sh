qdq targets
