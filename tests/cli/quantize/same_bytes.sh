qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -o a.onnx >/dev/null
qdq quantize conv.onnx -e sim:sim.json -o b.onnx >/dev/null
cmp a.onnx b.onnx
