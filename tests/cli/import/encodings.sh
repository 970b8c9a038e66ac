cp "$FIXTURES/conv.onnxtxt" .
cat >enc.json <<'EOF'
{"version": "0.6.1", "activation_encodings": {"image": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "offset": -3, "scale": 0.5}],
 "nowhere": [{"bitwidth": 8, "offset": 0, "scale": 1}]}, "param_encodings": {}}
EOF
qdq import conv.onnxtxt --encodings enc.json -o plan.json --json
qdq quantize conv.onnxtxt --plan plan.json -o q.onnx -q --no-sqnr >/dev/null &&
    qdq inspect q.onnx --json | grep -A 3 '"qdq"'
echo '{"activation_encodings": {"x": 3}}' >bad.json
qdq import conv.onnxtxt --encodings bad.json -o p.json
