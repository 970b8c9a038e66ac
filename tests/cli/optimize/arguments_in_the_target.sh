# What an engine wants is part of the group `default`.
qdq targets ort-cpu | sed -z 's/"passes": *\[[^]]*\]/"passes": ["share-initializers:weights"]/' \
    >my.json
grep -q '"passes"' my.json || sed -i '0,/{/s//{ "passes": ["share-initializers:weights"],/' my.json
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt --target ./my.json --json |
    grep -o 'share-initializers:[a-z]*'
