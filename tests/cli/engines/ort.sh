# needs: ort
qdq engines ort --json
