# Weights in Constant nodes are weights.
cp "$FIXTURES/sim.json" .
cat >m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y)
{
  w = Constant<value = float[4,4] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>()
  y = MatMul(x, w)
}
END
qdq inspect m.onnxtxt | grep initializers
qdq inspect m.onnxtxt --json | grep -m 1 weight_bytes
qdq quantize m.onnxtxt -e sim:sim.json -o q.onnx | grep weights:
