# An engine that computes one form wrongly: told with the node, exit code 1.
cp "$FIXTURES/partly.onnxtxt" .
cat >wrong.json <<'JSON'
{"qdq_sim": 1, "ops": {"Conv": {"float_us": 100, "int8_us": 30, "inputs": 2}}, "wrong": [{"op": "Conv", "times": 0.0001}]}
JSON
qdq check partly.onnxtxt --engine sim:wrong.json --data random:3
echo "exit $?"
qdq check partly.onnxtxt --engine sim:wrong.json --data random:3 --json |
    sed -n '/"engine_check"/,$p'
echo "exit ${PIPESTATUS[0]}"
