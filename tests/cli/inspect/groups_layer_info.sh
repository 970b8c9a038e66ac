# Fusion groups from files: what --json said before, what trtexec exports, and what is of another
# model.
m=$FIXTURES/conv.onnxtxt
qdq inspect "$m" --groups --engine "sim:$FIXTURES/sim.json" --json >layers.json
qdq inspect "$m" --groups --layer-info layers.json
cat >trt.json <<'J'
{"Layers": [
 {"Name": "conv1 + relu1", "LayerType": "CaskConvolution",
  "Inputs": [{"Name": "image", "Dimensions": [1,2,6,6], "Format/Datatype": "Row major linear FP32"}],
  "Outputs": [{"Name": "features", "Dimensions": [1,4,6,6], "Format/Datatype": "Row major linear FP32"}]},
 {"Name": "gemm", "LayerType": "gemm", "Inputs": [], "Outputs": []}
], "Bindings": ["image"]}
J
cat >profile.json <<'J'
[ { "count" : 10 }
, { "name" : "conv1 + relu1", "timeMs" : 1, "averageMs" : 0.1, "medianMs" : 0.1, "percentage" : 80 }
, { "name" : "gemm", "timeMs" : 0.25, "averageMs" : 0.025, "medianMs" : 0.025, "percentage" : 20 }
]
J
qdq inspect "$m" --groups --layer-info trt.json --layer-profile profile.json
qdq inspect "$m" --groups --layer-info trt.json --dot
qdq inspect "$FIXTURES/linear.onnxtxt" --groups --layer-info layers.json; echo $?
qdq inspect "$m" --groups --layer-info layers.json --engine ort; echo $?
qdq inspect "$m" --groups --layer-info layers.json --layer-profile profile.json; echo $?
qdq inspect "$m" --groups --layer-profile profile.json; echo $?
qdq inspect "$m" --layer-info layers.json; echo $?
echo '{"qdq_layers": 1, "layers": [{"kernel": 3}]}' >odd.json
qdq inspect "$m" --groups --layer-info odd.json; echo $?
