qdq targets ort-cpu >a.json
qdq targets ./a.json | cmp - a.json
head -n 1 a.json
