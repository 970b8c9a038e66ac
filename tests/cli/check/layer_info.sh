# Layers of an engine that trtexec built elsewhere: the first gives float, though it reads codes.
cat >model.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y)
<float s = {0.1}, int8 z = {0}, float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}>
{
  [x_Q] xq = QuantizeLinear(x, s, z)
  [x_DQ] xd = DequantizeLinear(xq, s, z)
  ["/fc"] h = MatMul(xd, w)
  ["/erf"] y = Erf(h)
}
M
cat >layers.json <<'L'
{"Layers": [{
  "Name": "x_Q", "LayerType": "Reformat", "Origin": "QDQ",
  "Inputs": [{"Name": "x", "Dimensions": [1,4], "Format/Datatype": "Row major linear FP32"}],
  "Outputs": [{"Name": "xq", "Dimensions": [1,4], "Format/Datatype": "Row major Int8 format"}]
},{
  "Name": "/fc", "LayerType": "gemm", "Metadata": "[ONNX Layer: /fc]",
  "Inputs": [{"Name": "xq", "Dimensions": [1,4], "Format/Datatype": "Int8"}],
  "Outputs": [{"Name": "h", "Dimensions": [1,4], "Format/Datatype": "Half"}]
},{
  "Name": "/erf", "LayerType": "kgen", "Metadata": "[ONNX Layer: /erf]",
  "Inputs": [{"Name": "h", "Dimensions": [1,4], "Format/Datatype": "Half"}],
  "Outputs": [{"Name": "y", "Dimensions": [1,4], "Format/Datatype": "Float"}]
}], "Bindings": ["x", "y"]}
L
cat >profile.json <<'P'
[
  { "count" : 512 }
, { "name" : "x_Q", "timeMs" : 1.0, "averageMs" : 0.002, "medianMs" : 0.002, "percentage" : 10 }
, { "name" : "/fc", "timeMs" : 4.0, "averageMs" : 0.008, "medianMs" : 0.007, "percentage" : 80 }
, { "name" : "/erf", "timeMs" : 0.5, "averageMs" : 0.001, "medianMs" : 0.001, "percentage" : 10 }
]
P
qdq check model.onnxtxt --layer-info layers.json; echo $?
qdq check model.onnxtxt --layer-info layers.json --layer-profile profile.json --strict; echo $?
qdq check model.onnxtxt --layer-info layers.json --json
qdq check model.onnxtxt --layer-profile profile.json; echo $?
qdq check model.onnxtxt --layer-info none.json; echo $?
echo '{"Layers": ["/fc", "/erf"], "Bindings": ["x", "y"]}' >names.json
qdq check model.onnxtxt --layer-info names.json; echo $?
qdq check model.onnxtxt --layer-info model.onnxtxt; echo $?
