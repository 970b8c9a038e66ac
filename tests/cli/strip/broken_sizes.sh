# Operators of ONNX Runtime whose attributes are none that their weights allow: refused, and nothing
# is written.
cat >table.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
g (int64[2] i) => (float[2,2] y) <int4[2,2] t = {1, -8, 7, 0}, float[2,1] s = {1, 0.5}> {
  [t] y = com.microsoft.GatherBlockQuantized <block_size = 16, gather_axis = 3> (t, i, s)
}
M
cat >lstm.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[3,1,1] x) => (float[3,1,1,2] y) <int8[1,1,8] w = {1, 2, 3, 4, 5, 6, 7, 8},
    int8[1,2,8] r = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, float[1] s = {1}, int8[1] z = {0}> {
  [l] y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1> (x, w, r, "", "", "", "", "", s, z, s, z)
}
M
for m in table lstm; do
    qdq strip $m.onnxtxt -o out.onnx
    echo "exit $?"
    qdq import $m.onnxtxt -o plan.json
    echo "exit $?"
done
ls
