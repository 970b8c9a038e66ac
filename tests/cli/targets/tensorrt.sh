qdq targets tensorrt | grep '^  "bias"'
