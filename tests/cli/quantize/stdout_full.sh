# needs: full
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -qq -o - >/dev/full 2>/dev/null
