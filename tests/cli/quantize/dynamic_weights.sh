# needs: ort
# Weights that are inputs or computed: a product of two activations takes Q/DQ on both, with one
# scale each and no entry among the weights; a Conv and weights-only formats leave such a node float
# and say why. What only constants give is a weight again once the passes have computed it.
cat >dynamic.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
dynamic (float[2,32] x, float[32,32] u, float[1,8,9,9] image, float[16,8,3,3] filter)
    => (float[2,32] y, float[2,32] g, float[1,16,9,9] z, float[2,32] k)
<float zero = {0}, float end = {1024}, float one = {1}, int64[2] square = {32, 32}> {
  [byinput] h = MatMul(x, u)
  t = Tanh(u)
  [computed] y = MatMul(h, t)
  [gemm] g = Gemm <transB = 1> (x, u)
  [conv] z = Conv <pads = [1, 1, 1, 1]> (image, filter)
  r = Range(zero, end, one)
  s = Sin(r)
  w = Reshape(s, square)
  [folded] k = MatMul(x, w)
}
M
check() {
    echo "== $*"
    qdq quantize dynamic.onnxtxt --calib random:3 -i . -q -q -f -o q.onnx --plan-out p.json "$@" \
        >/dev/null || echo "exit $?"
    sed -E 's/"(scale|zero_point)": [^,}]*, //g; s/, "origin": "rule"|"pairs": true, //g; /"left_float"/,$!{/"quantized"/,/\]/d}' p.json |
        grep -E '^    \{' | grep -E '"tensor"|"reason".*|"byinput|"conv' |
            grep -v '"op": "(Tanh|Sin|Range|Reshape)"'
    qdq compare dynamic.onnxtxt q.onnx --data random:5 --json |
        grep -oE '"sqnr_db": ([0-9]+|null)' |
        awk '$2 < 20 && $2 != "null" { print "too far away: " $0 } END { print NR " outputs compared" }'
}
check
check -T tensorrt
check -T int4 --weight-method absmax
check --no-optimize
