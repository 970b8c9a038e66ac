# What the simulated engine executes: a fused float layer, and one on codes without a Q behind it.
qdq inspect "$FIXTURES/conv.onnxtxt" --groups --engine "sim:$FIXTURES/sim.json"
cat >mixed.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y)
<float s = {0.1}, uint8 z = {0}, int8 zw = {0}, int8[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}>
{
  xq = QuantizeLinear(x, s, z)
  xd = DequantizeLinear(xq, s, z)
  wd = DequantizeLinear(w, s, zw)
  [fc] h = MatMul(xd, wd)
  [erf] y = Erf(h)
}
M
qdq inspect mixed.onnxtxt --groups --engine "sim:$FIXTURES/sim.json"
qdq inspect mixed.onnxtxt --groups --engine "sim:$FIXTURES/sim.json" --json
qdq inspect mixed.onnxtxt --groups --engine "sim:$FIXTURES/sim.json" --dot
