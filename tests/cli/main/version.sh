qdq --version
