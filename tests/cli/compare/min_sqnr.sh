qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q --calib random:1 --no-sqnr >/dev/null
qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json --min-sqnr 200 >/dev/null
echo $?
qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json --min-sqnr 1 >/dev/null
echo $?
