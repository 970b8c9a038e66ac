# An engine that stands still is ended after --engine-timeout, with exit code 5.
cp "$FIXTURES/linear.onnxtxt" .
sed 's/^{/{"fail": [{"at": "open", "hang": 1000}],/' "$FIXTURES/sim.json" >hang.json
qdq compare linear.onnxtxt linear.onnxtxt --data random:1 --engine sim:hang.json \
    --engine-timeout 0.3
