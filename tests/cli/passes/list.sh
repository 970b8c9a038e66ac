qdq passes
