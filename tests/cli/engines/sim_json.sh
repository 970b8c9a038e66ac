cp "$FIXTURES/sim.json" .
qdq engines sim:sim.json --json | sed 's/"processor": .*/"processor": NAME/'
