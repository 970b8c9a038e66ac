# GRU and RNN have no 8-bit form: the summary says why, whatever the format.
cat >net.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 21]>
g (float[4,2,8] x, float[1,24,8] gw, float[1,24,8] gr, float[1,8,8] rw, float[1,8,8] rr) => (float[4,1,2,8] y, float[4,1,2,8] z) {
  y = GRU <hidden_size = 8> (x, gw, gr)
  z = RNN <hidden_size = 8> (x, rw, rr)
}
M
for format in dynamic int4; do
    qdq quantize net.onnxtxt --format $format --dry-run | grep -E 'GRU|RNN'
done
