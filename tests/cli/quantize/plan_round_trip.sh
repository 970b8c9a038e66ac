qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o a.onnx --plan-out plan.json >/dev/null
qdq quantize conv.onnx --plan plan.json -o b.onnx --ort-library /nonexistent | head -n 1
cmp a.onnx b.onnx
