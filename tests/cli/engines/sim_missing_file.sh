qdq engines sim:missing.json
