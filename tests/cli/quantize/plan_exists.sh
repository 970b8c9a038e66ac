qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
touch plan.json
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --plan-out plan.json
code=$?
ls
exit $code
