# needs: ort
# A product whose weights fall between codes, and data around 3: its bias takes the shift off. The
# plan says by how much, and replays it; one that names no such product is refused; random input has
# no means.
cat >coarse.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
h (float[4,2] x) => (float[4,2] y)
<float[2,2] w = {7, 7, 0.375, 1.375}, float[2] b = {1, 2}> {
  z = MatMul(x, w)
  y = Add(z, b)
}
M
printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }" \
    >x.npy
printf '\0\0\100\100%.0s' 1 2 3 4 5 6 7 8 >>x.npy # 3.0
q() { qdq quantize coarse.onnxtxt --target int4 --calib x.npy "$@"; }
q -o plain.onnx >/dev/null
q -o a.onnx --plan-out a.json --bias-correction >/dev/null
grep delta a.json
qdq quantize coarse.onnxtxt --plan a.json -q -o b.onnx >/dev/null && cmp a.onnx b.onnx
for f in plain a; do
    qdq compare coarse.onnxtxt $f.onnx --data x.npy --json | grep '"max_abs'
done
qdq copy a.onnx -o a.onnxtxt && grep -o ' b = [^>]*' a.onnxtxt
echo "mistakes"
bad() {
    sed "$1" a.json >bad.json
    qdq quantize coarse.onnxtxt --plan bad.json -f -o c.onnx
}
bad 's/"delta": \[/&1, /'
bad 's/"delta": \[[^,]*/"delta": [1e39/'
bad '/delta/s/"tensor": "b"/"tensor": "c"/'
bad '/delta/s/"Add@y", 1/"Add@y", 0/'
qdq quantize coarse.onnxtxt --target int4 --calib random:1 -o d.onnx --bias-correction >/dev/null
qdq quantize coarse.onnxtxt --plan a.json --bias-correction -o e.onnx
echo "for a goal"
# Both outputs are 1.125 off without, which is more than a goal of 40 dB allows.
q --min-sqnr 40 -o g.onnx --plan-out g.json 2>&1 | grep -E 'biases|reach'
grep -c delta g.json
q --min-sqnr 40 --json -o j.onnx | grep -E '"(bias_correction|corrected_db|uncorrected_db)"'
q --min-sqnr 40 --bias-correction=off -o h.onnx >/dev/null
echo "exit $?"
q --min-sqnr 5 -o k.onnx --plan-out k.json | grep -c biases
qdq quantize coarse.onnxtxt --plan a.json --bias-correction=off -o e.onnx
qdq quantize coarse.onnxtxt --bias-correction=maybe -o e.onnx
