# -q prints errors alone: no summary, no warning, no progress; what -o - writes is no summary. With
# --json the result is wanted. -qq prints nothing.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q
qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json -q --min-sqnr 200
echo "exit code $?"
qdq quantize conv.onnx -o - -e sim:sim.json -q | cmp - q.onnx && echo "the model is on stdout"
qdq quantize conv.onnx -o j.onnx -e sim:sim.json -q --json | grep '"output"'
qdq inspect missing.onnx -q
qdq inspect missing.onnx -qq
echo "exit code $?"
