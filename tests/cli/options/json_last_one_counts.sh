qdq passes --json --no-json | head -c 1 | grep -c "\["
