# What training left float is completed; what it quantized keeps its scales.
qdq copy "$FIXTURES/qat.onnxtxt" -o qat.onnx
cp "$FIXTURES/sim.json" .
qdq quantize qat.onnx -e sim:sim.json -o q.onnx --calib random:3 --plan-out plan.json
sed \
    -e \
    's/"scale": 0\.[0-9]*, "zero_point": [0-9]*, "rule": "\([a-z0-9-]*\)", "origin": "rule"/calibrated, \1/' plan.json | sed -n '/"tensors"/,$p'
echo again
qdq quantize q.onnx -e sim:sim.json -o again.onnx --calib random:3
cmp q.onnx again.onnx && echo the same bytes
qdq quantize q.onnx -e sim:sim.json -f -o again.onnx --json |
    sed -n -e '/"placement_only"/p' -e '/"quantized"/,/"left_float"/p'
