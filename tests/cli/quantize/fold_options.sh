# passes and folding as optimize has them; the plan records them, and its replay gives the same
# model
cp "$FIXTURES/sim.json" .
cat >m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 13]>
m (float[2,4] x) => (float[2,4] z) <
  float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
> {
  v = Neg(w)
  y = MatMul(x, v)
  z = MatMul(y, v)
}
END
try() {
    qdq quantize m.onnxtxt -o q.onnxtxt -f -q -e sim:sim.json --no-sqnr --plan-out plan.json "$@" \
        >/dev/null
    echo "$* -> $?, Neg: $(grep -c Neg q.onnxtxt)"
}
passes() { grep -o '"clean": "[^"]*' plan.json | tr , '\n' | grep "$1"; }
try
passes fold-constants
try --no-fold Neg,Abs
passes fold-constants
qdq quantize m.onnxtxt -o again.onnxtxt -q --plan plan.json >/dev/null
cmp q.onnxtxt again.onnxtxt && echo the same
try --fold-only Abs
try --fold-output-bytes 16 --fold-input-bytes 16 --growth-budget 0
passes fold-constants
try --passes lift-constants,fold-constants
passes lift-constants
try --passes quantize,-fold-constants
passes fold-constants
rm q.onnxtxt
try() {
    qdq quantize m.onnxtxt -o q.onnxtxt "$@" 2>&1
    echo "$* -> $?"
}
try --fold-only DequantizeLinear
try --no-fold Nag
try --passes nothing
try --no-optimize --passes quantize
try --no-optimize --growth-budget 7
try --plan plan.json --no-fold Neg
try --plan plan.json --passes quantize
