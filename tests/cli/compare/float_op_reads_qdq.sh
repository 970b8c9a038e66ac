# needs: ort
# ReduceMean reads what Q/DQ rounded and computes in float: no error of an 8-bit kernel
cat >float.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,4,4] x) => (float[1,2,1,1] y) {
  ["/Relu"] r = Relu(x)
  ["/ReduceMean"] y = ReduceMean<axes = [2, 3]>(r)
}
X
cat >quantized.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,4,4] x) => (float[1,2,1,1] y) <float s = {0.02}, uint8 z = {0}> {
  ["/Relu"] r = Relu(x)
  ["q"] a = QuantizeLinear(r, s, z)
  ["dq"] b = DequantizeLinear(a, s, z)
  ["/ReduceMean"] y = ReduceMean<axes = [2, 3]>(b)
}
X
qdq copy float.onnxtxt -o float.onnx
qdq copy quantized.onnxtxt -o quantized.onnx
qdq compare float.onnx quantized.onnx -d random:1 --per-tensor | grep -v '^output\|^y '
qdq compare float.onnx quantized.onnx -d random:1 --per-tensor --json | grep -A4 '"node"' | grep 'node\|quantized\|has_qdq'
