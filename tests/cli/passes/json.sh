qdq passes --json | grep -c '"name"'
