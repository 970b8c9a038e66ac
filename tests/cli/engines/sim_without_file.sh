qdq engines sim
