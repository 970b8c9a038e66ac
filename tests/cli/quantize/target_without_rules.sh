qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
echo '{"qdq_target": 1, "name": "bare", "activation": {"type": "int8", "symmetric": true}, "weight": {"type": "int8", "symmetric": true}}' >bare.json
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --target ./bare.json --calib random:1
