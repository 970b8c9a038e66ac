# The next step is measured on the engine that the file is for, with the threads of the speed above:
# bench takes another engine and one thread without a word.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
next() {
    qdq quantize conv.onnx -f -o q.onnx -e sim:sim.json --calib random:1 "$@" 2>/dev/null | tail -n 1
}
next
next -t 1
next -T openvino -t 3
next -T tensorrt -t 1 --format int4
qdq targets ort-cpu | sed 's/"engine": "ort"/"engine": "sim"/' >mine.json
next -T mine.json -t 1
sed '/^  "engine": "sim"/d' mine.json >ownerless.json # no engine: nothing is timed
next -T ownerless.json | grep -o '^next'
true
