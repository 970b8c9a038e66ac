# The float weights are lost where the output replaces the input: -f allows it, with a warning; the
# plan is written before, so that a disk that is full leaves the float model.
cp "$FIXTURES/sim.json" .
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp conv.onnx float.onnx
ln -s conv.onnx link.onnx
try() {
    qdq quantize conv.onnx -e sim:sim.json --no-sqnr "$@" >/dev/null
    echo "exit code $?"
}
try -o other.onnx
try -o conv.onnx
try -o conv.onnx -f --plan-out no/where.json
cmp conv.onnx float.onnx && echo "still float"
try -o link.onnx -f
cmp -s conv.onnx float.onnx && echo "the link was replaced, not the model"
try -o ./conv.onnx -f
qdq inspect conv.onnx | grep Q/DQ
