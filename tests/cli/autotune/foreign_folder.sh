# files that no run wrote are not overwritten, the model itself in no case
qdq copy "$FIXTURES/conv.onnxtxt" -o model.onnx
cp "$FIXTURES/sim.json" .
cp model.onnx before.onnx
mkdir mine
echo precious >mine/plan.json
try() {
    qdq autotune "$@" -e sim:sim.json -q >/dev/null
    echo "$* -> $?"
}
try model.onnx -o .
try model.onnx -o . -f
try model.onnx -o ../run/.
try model.onnx -o mine
try model.onnx -o -
try model.onnx -o new --store new/model.onnx
cat mine/plan.json
cmp model.onnx before.onnx && echo "as before"
try model.onnx -o mine -f
try model.onnx -o mine
grep -q precious mine/plan.json || echo overwritten
