qdq targets ./missing.json
