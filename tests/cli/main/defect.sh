qdq __bug
