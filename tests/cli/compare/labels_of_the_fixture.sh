qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cp "$FIXTURES/labelled.npz" .
qdq compare conv.onnx conv.onnx --data labelled.npz --labels label -e sim:sim.json | tail -n 1 |
    sed "s/[0-9.]* (first), [0-9.]*/N (first), N/"
