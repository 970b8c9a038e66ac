# needs: full
qdq help >/dev/full
