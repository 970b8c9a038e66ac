qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --calib random:1 --no-sqnr --json | grep -A 4 -e '"samples"' -e '"outputs"'
