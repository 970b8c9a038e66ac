qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --shape image=4x2x6x6 --json | grep -A 12 run_as
