# Options that do not go together, groups that are not there or cannot be models.
m=$FIXTURES/conv.onnxtxt e=sim:$FIXTURES/sim.json
qdq extract "$m" -o a.onnx --group 99 --engine "$e"; echo $?
qdq extract "$m" -o a.onnx --group x --engine "$e"; echo $?
qdq extract "$m" -o a.onnx --group 0 --inputs image; echo $?
qdq extract "$m" -o a.onnx --halo --inputs image; echo $?
qdq extract "$m" -o a.onnx --group 0 --engine "$e" --layer-info x.json; echo $?
qdq extract "$m" -o a.onnx --group 0 --layer-info x.json; echo $?
qdq extract "$m" -o a.onnx --group 0 --engine "$e" --max-shape image=1x2x6x6; echo $?
cat >dead.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y) { [dead] t = Relu(x) [end] y = Abs(x) }
M
qdq extract dead.onnxtxt -o a.onnx --group 0 --engine "$e"; echo $?
ls
