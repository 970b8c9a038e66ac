qdq --help | head -n 1
qdq -h | tail -n 1
