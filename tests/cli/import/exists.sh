qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q --calib random:1 --no-sqnr >/dev/null
touch plan.json
qdq import q.onnx -o plan.json
