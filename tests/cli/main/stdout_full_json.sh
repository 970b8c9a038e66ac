# needs: full
qdq targets --json >/dev/full
