qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq bench -t 2 --warmup 2 --rounds=20 --seed 5 -esim:sim.json -- conv.onnx conv.onnx | tail -n 2 |
    awk '{print $1, $6}'
