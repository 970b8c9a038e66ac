qdq passes --json --no-json | grep -c '\['
qdq passes --no-json --json | grep -c '\['
