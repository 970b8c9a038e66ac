echo "{" >t.json
qdq targets t.json
