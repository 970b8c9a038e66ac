cp "$FIXTURES/sim.json" .
qdq engines sim:sim.json
