qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cp "$FIXTURES"/*.npy .
mkdir empty
echo text >text.npz
echo text >empty.txt
for data in nan.npy rank3.npy int.npy empty text.npz empty.txt; do
    qdq quantize conv.onnx -e sim:sim.json -o q.onnx --calib $data
    echo "$data -> $?"
done
ls q.onnx 2>/dev/null
