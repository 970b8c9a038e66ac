# An engine that stands still is ended after --engine-timeout; check says that it does not know.
sed 's/^{/{"fail": [{"at": "open", "hang": 1000}],/' "$FIXTURES/sim.json" >hang.json
cp "$FIXTURES/linear.onnxtxt" .
qdq check linear.onnxtxt --engine sim:hang.json --engine-timeout 0.3
