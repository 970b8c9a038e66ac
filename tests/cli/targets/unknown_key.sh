echo '{"qdq_target": 1, "frobs": 2}' >t.json
qdq targets t.json
