qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq targets ort-cpu >mine.json
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --target mine.json --json | grep '"target"'
