# LayerNormalization in nine nodes at opset 13: raised for a target that has Q/DQ there, and said in
# summary, JSON, --why and the plan; an operator in the way is named, and another target changes no
# opset.
cp "$FIXTURES/sim.json" .
spelled() {
    cat <<END
<ir_version: 7, opset_import: ["" : 13]>
g (float[4,16,64] x) => (float[4,16,64] y) <float[64,64] w1 = {$numbers}, float[64,64] w2 = {$numbers}, float two = {2},
 float eps = {1e-05}, float[64] gamma = {$gains}, float[64] beta = {$gains}> {
 h = MatMul(x, w1) m = ReduceMean <axes = [-1]> (h) d = Sub(h, m) p = Pow(d, two) v = ReduceMean <axes = [-1]> (p)
 e = Add(v, eps) s = Sqrt(e) n = Div(d, s) t = Mul(n, gamma) ln = Add(t, beta) $1
}
END
}
gains=$(seq -s , 1 64)
numbers=$(seq -s , 1 4096 | sed 's/\([0-9]\)\b/\1.5/g')
spelled 'y = MatMul(ln, w2)' >spelled.onnxtxt
spelled 'z = MatMul(ln, w2) y = Strange(z)' >strange.onnxtxt
quantize() { qdq quantize "$@" -e sim:sim.json --no-sqnr -f -o q.onnx; }
quantize spelled.onnxtxt -T tensorrt | sed -n '/^opset/,/^$/p'
qdq inspect q.onnx | grep -E 'opset|LayerNorm'
quantize spelled.onnxtxt -T tensorrt --json | grep -E '"fused_layernorms"|"LayerNormalization"'
quantize spelled.onnxtxt -T tensorrt -q --plan-out plan.json >/dev/null
grep '"opset"' plan.json
qdq quantize spelled.onnxtxt -T tensorrt --dry-run --why ln | grep fuse
quantize spelled.onnxtxt -T tensorrt -v 2>&1 | grep raised
quantize strange.onnxtxt -T tensorrt 2>&1 | grep "cannot be raised"
for target in ort-cpu "tensorrt --set layernorm-input=off"; do
    quantize spelled.onnxtxt -T $target | grep -c '^opset'
    qdq inspect q.onnx | grep opset
done
