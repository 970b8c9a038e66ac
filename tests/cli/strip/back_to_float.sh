qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q --calib random:1 --no-sqnr >/dev/null
qdq strip q.onnx -o f.onnx --json | grep output
qdq inspect f.onnx --json | grep -A 3 '"qdq"'
qdq check f.onnx
