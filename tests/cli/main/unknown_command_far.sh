qdq frobnicate
