qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q --calib random:1 --no-sqnr >/dev/null
qdq import q.onnx -o plan.json --json | grep -v "[0-9]"
qdq quantize conv.onnx --plan plan.json --force-plan -q -o r.onnx >/dev/null
qdq import r.onnx -o - >again.json
grep -v -e model -e created plan.json >a
grep -v -e model -e created again.json >b
cmp a b
