cat >dynamic.onnxtxt <<'EOF'
<ir_version: 9, opset_import: ["" : 17]>
g (float[2,2] x) => (float[2,2] y, float[2,2] z) <int8[2,2] w = {1, 2, 3, 4}, float ws = {0.25}> {
  a, as, az = DynamicQuantizeLinear(x)
  i = MatMulInteger(a, w, az)
  f = Cast <to = 1> (i)
  s = Mul(as, ws)
  y = Mul(f, s)
  b = DequantizeLinear(a, as, az)
  z = Abs(b)
}
EOF
qdq import dynamic.onnxtxt -o p.json --json
qdq strip dynamic.onnxtxt -o f.onnx
qdq inspect f.onnx --json | grep -A 3 '"qdq"'
qdq quantize f.onnx --plan p.json -o q.onnx -q --no-sqnr >/dev/null && echo applied
