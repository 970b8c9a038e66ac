# The regions that are varied together, their patterns, coverage and sizes; no engine.
cat >blocks.onnxtxt <<'END'
<ir_version: 8, opset_import: ["": 17]>
blocks (float[4,2] x) => (float[4,2] y) <float[2,2] w = {1, 2, 3, 4}> {
  a0 = Relu(x)
  b0 = MatMul(a0, w)
  c0 = Relu(b0)
  d0 = MatMul(c0, w)
  e0 = Add(d0, a0)
  a1 = Relu(e0)
  b1 = MatMul(a1, w)
  c1 = Relu(b1)
  d1 = MatMul(c1, w)
  e1 = Add(a1, d1)
  a2 = Relu(e1)
  b2 = MatMul(a2, w)
  c2 = Relu(b2)
  d2 = MatMul(c2, w)
  e2 = Add(d2, a2)
  a3 = Relu(e2)
  s0 = Softmax(a3)
  s1 = Sigmoid(s0)
  s2 = Tanh(s1)
  s3 = Erf(s2)
  s4 = Sigmoid(s3)
  s5 = Tanh(s4)
  s6 = Erf(s5)
  s7 = Sigmoid(s6)
  s8 = Tanh(s7)
  s9 = Erf(s8)
  y = MatMul(s9, w)
}
END
qdq inspect blocks.onnxtxt --regions --cpu vnni
echo "-- every node, small leaves"
qdq inspect blocks.onnxtxt --regions --cpu vnni --all-regions --max-region-size 4 -v
echo "-- by names"
qdq inspect blocks.onnxtxt --regions --cpu vnni --region-builder names | head -12
echo "-- JSON"
qdq inspect "$FIXTURES/conv.onnxtxt" --regions --cpu vnni --json
echo "-- drawing"
qdq inspect blocks.onnxtxt --regions --cpu vnni --dot
echo "-- nothing in it"
qdq inspect "$FIXTURES/nothing.onnxtxt" --regions --cpu vnni
