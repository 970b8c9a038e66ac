cat >codes.onnxtxt <<'EOF'
<ir_version: 9, opset_import: ["" : 17]>
g (uint8[2,2] x) => (float[2,2] y) <float s = {0.25}> {
  y = DequantizeLinear(x, s)
}
EOF
qdq strip codes.onnxtxt -o f.onnx
echo $?
