# With a goal, statistics have no folds, and --calib evaluates.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy -q -o all.json >/dev/null
qdq quantize conv.onnx -e sim:sim.json --cache all.json --calib nine.npy --min-sqnr 5 -o q.onnx \
    --json | grep -A 6 '"samples"'
