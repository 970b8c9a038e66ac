# ONNX Runtime 1.31 has no kernel of Swish at opset 25: the float model runs all the same, with a
# warning, and what is written has none, also where nothing is run.
# needs: ort
cat >m.onnxtxt <<'M'
<ir_version: 11, opset_import: ["" : 25]>
g (float[N,4] x) => (float[N,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,8,7,6,5,4,3,2,1}> {
  a = MatMul(x, w)  b = Swish(a)  c = Swish <alpha = 1.702> (b)  y = MatMul(c, w)
}
M
qdq copy m.onnxtxt -o m.onnx >/dev/null
qdq quantize m.onnx -o q.onnx --calib random:1 -q
qdq inspect q.onnx | grep -c Swish
qdq quantize m.onnx -o dynamic.onnx --format dynamic --no-sqnr -q
qdq inspect dynamic.onnx | grep -c Swish
qdq compare q.onnx m.onnx -d random:1 | grep -c '^y '
qdq bench m.onnx --rounds 20 -t 1 --shape x=2x4 2>/dev/null | grep -c '^m.onnx'
