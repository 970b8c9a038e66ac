qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --shape image=4x2x6x6 --json | grep run_as
qdq inspect q.onnx | grep inputs
