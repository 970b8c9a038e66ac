# Open dimensions come from the first sample.
cat >open.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,T,6] x) => (float[N,T,6] y) { y = Relu(x) }
END
cp "$FIXTURES/sim.json" .
qdq bench open.onnxtxt -e sim:sim.json --data "$FIXTURES/rank3.npy" | head -1
qdq bench open.onnxtxt -e sim:sim.json --data "$FIXTURES/rank3.npy" --json | grep '"shapes"'
qdq bench open.onnxtxt -e sim:sim.json --data missing.npz
