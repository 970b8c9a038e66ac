cp "$FIXTURES/invalid.onnxtxt" "$FIXTURES/sim.json" .
qdq bench invalid.onnxtxt -e sim:sim.json
