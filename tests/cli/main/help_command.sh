qdq help check
