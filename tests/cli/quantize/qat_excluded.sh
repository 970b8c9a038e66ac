# Exclusion adds nothing for a node, and takes nothing out.
qdq copy "$FIXTURES/qat.onnxtxt" -o qat.onnx
cp "$FIXTURES/sim.json" .
qdq quantize qat.onnx -e sim:sim.json -q -o q.onnx -x '^conv1$' --plan-out plan.json >/dev/null
sed -n '/"quantized"/,$p' plan.json
qdq quantize q.onnx -e sim:sim.json -q -o r.onnx -x '^conv' --plan-out again.json >/dev/null
sed -n '/"quantized"/,$p' again.json
