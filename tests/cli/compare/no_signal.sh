# What is zero, or not finite, everywhere has no SQNR.
# needs: ort
cat >odd.onnxtxt <<'T'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] none, float[1,4] zero) <float[1] z = {0}> { zero = Mul(x, z) none = Div(zero, z) }
T
qdq compare odd.onnxtxt odd.onnxtxt --data random:1
