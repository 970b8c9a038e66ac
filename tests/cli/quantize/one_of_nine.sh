qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cp "$FIXTURES/nine.npy" .
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --calib nine.npy |
    grep -e calibrated -e "accuracy against"
qdq quantize conv.onnx -e sim:sim.json -f -o q.onnx --calib nine.npy --samples 4 |
    grep -e calibrated -e "accuracy against"
qdq quantize conv.onnx -e sim:sim.json -f -o q.onnx --calib nine.npy --samples 9 |
    grep -e calibrated -e "accuracy against"
qdq quantize conv.onnx -e sim:sim.json -f -o q.onnx --calib nine.npy --samples 100 |
    grep -e calibrated -e "accuracy against"
qdq quantize conv.onnx -e sim:sim.json -f -o q.onnx --calib nine.npy --samples 1 |
    grep -e calibrated -e "accuracy against"
