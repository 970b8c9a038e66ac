# Names that hold brackets, commas, line breaks, separators and bytes that are no text: what is
# printed has none of them raw.
cat >model.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y)
<float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}>
{
  ["a]b, c"] h = MatMul(x, w)
  ["d \"e"] y = Erf(h)
}
M
printf '{"Layers": [{"Name": "a]b, c", "LayerType": "gemm", "Metadata": "[ONNX Layer: a]b, c]\x1e[ONNX Layer: no\xc3(body]",
 "Inputs": [{"Name": "x", "Format/Datatype": "Int8"}], "Outputs": [{"Name": "h", "Format/Datatype": "Half"}]},
 {"Name": "\xc3( new\nline \x1b[2J", "LayerType": "kg\xc3(n", "Inputs": [{"Name": "h", "Format/Datatype": "Int8"}],
 "Outputs": [{"Name": "y\xc3(", "Format/Datatype": "Half"}]}], "Bindings": ["x", "y"]}' >layers.json
printf '[{"count": 5}, {"name": "a]b, c", "averageMs": nan}, {"name": "\xc3( new\nline \x1b[2J", "averageMs": 1}]' >profile.json
qdq check model.onnxtxt --layer-info layers.json --layer-profile profile.json | tr '\303' '?'
qdq check model.onnxtxt --layer-info layers.json --layer-profile profile.json --json |
    grep '"layer"\|"kernel"'
# Of another model: its layers have no nodes here.
echo '{"Layers": [{"Name": "/other/Conv + /other/Relu", "LayerType": "CaskConvolution"}], "Bindings": ["p"]}' >other.json
qdq check model.onnxtxt --layer-info other.json
head -c 150 layers.json >cut.json
qdq check model.onnxtxt --layer-info cut.json; echo $?
