qdq help >&-
