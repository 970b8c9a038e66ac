qdq help
