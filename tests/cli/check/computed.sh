cp "$FIXTURES/partly.onnxtxt" "$FIXTURES/sim.json" .
qdq check partly.onnxtxt --engine sim:sim.json
echo "exit $?"
qdq check partly.onnxtxt --engine sim:sim.json --json | sed -n '/"engine_check"/,$p'
