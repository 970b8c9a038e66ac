qdq inspect m --dot --json
