qdq
