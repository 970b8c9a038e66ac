qdq help check copy
