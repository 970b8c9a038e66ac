# Weights in blocks of ONNX Runtime's own operators.
cat >m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
g (float[3,4] x, int64[2] i) => (float[3,2] y, rows) <uint8[2,1,8] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
    14, 15, 16}, float[2] s = {1, 0.5}, int4[2,2] t = {1, -8, 7, 0}, float[2,1] ts = {1, 0.5}> {
  [product] y = com.microsoft.MatMulNBits <K = 4, N = 2, bits = 3, block_size = 24, accuracy_level = 9> (x, w, s)
  [table] rows = com.microsoft.GatherBlockQuantized <block_size = 24, gather_axis = 3> (t, i, ts)
}
M
qdq check m.onnxtxt
