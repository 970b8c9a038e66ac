qdq targets --json
