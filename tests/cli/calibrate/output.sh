# What is printed, of a part and of a merged file; a file is kept without -f.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy --part 2/4 -o part.json
qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy --part 1/4 -o part.json
qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy --part 1/4 -n 8 -f -o part1.json --json
qdq calibrate conv.onnx --merge part.json -o all.json --json
qdq calibrate conv.onnx --merge part.json -o - >stdout.json && cmp stdout.json part.json
head -c 200 part.json | head -2
qdq quantize conv.onnx -e sim:sim.json --cache all.json --calib nine.npy --min-sqnr 0 --json \
    -o q.onnx | grep -A 3 '"samples"'
qdq quantize conv.onnx -e sim:sim.json --cache all.json --no-sqnr -f -o q.onnx | head -1
