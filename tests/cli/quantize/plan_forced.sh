qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o a.onnx --plan-out plan.json >/dev/null
qdq copy conv.onnx -o batch.onnx --set-shape image=2x2x6x6
qdq quantize batch.onnx -q --plan plan.json -o b.onnx >/dev/null
echo $?
qdq quantize batch.onnx -q --plan plan.json -o b.onnx --force-plan >/dev/null
echo $?
