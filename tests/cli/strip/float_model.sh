# A float model has no rounding to tell of, nor has one whose weights are float before their Q.
qdq strip "$FIXTURES/conv.onnxtxt" -o f.onnx | sed 's/[0-9][0-9]*/N/'
cat >codes.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {0.25}, int8 z = {0}> {
  d = DequantizeLinear(w, s, z)
  y = MatMul(x, d)
}
M
qdq strip codes.onnxtxt -o c.onnx | sed 's/[0-9][0-9]*/N/'
