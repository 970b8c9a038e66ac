# a plan in which one operator has codes for its activation alone, another one for its weight alone
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cat >halves.json <<EOF
{
  "qdq_plan": 1,
  "tensors": [{"tensor": "image", "consumers": [["conv1", 0]], "type": "uint8", "scale": 0.02, "zero_point": 128}],
  "weights": [{"tensor": "w2", "consumers": [["gemm", 1]], "axis": 0, "type": "int8", "method": "absmax"}],
  "left_float": [
    {"node": "conv1", "op": "Conv", "reason": "only its activation is quantized"},
    {"node": "gemm", "op": "Gemm", "reason": "only its weight is quantized"}
  ]
}
EOF
qdq quantize conv.onnx --plan halves.json --force-plan -o halves.onnx
qdq copy halves.onnx -o halves.onnxtxt
grep -e Linear -e Conv -e Gemm halves.onnxtxt
qdq import halves.onnx -o again.json >/dev/null
grep -e '"tensor"' again.json
