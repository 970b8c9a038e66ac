qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cp "$FIXTURES/one.npy" .
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --calib one.npy |
    grep -e calibrated -e "accuracy against"
