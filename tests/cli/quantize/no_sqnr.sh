qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --calib random:1 --no-sqnr --json >out
sed -n '/"samples"/,/}/p' out
grep '"outputs"' out
