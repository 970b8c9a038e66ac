# Two Conv whose channels are 64 times apart: the plan records the pass, and replays it.
cat >spread.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
h (float[1,2,4,4] x) => (float[1,2,4,4] y)
<float[2,2,1,1] w = {64, 32, 1, 0.5}, float[2,2,1,1] v = {0.25, 16, 0.25, 16}> {
  c = Conv(x, w)
  r = Relu(c)
  y = Conv(r, v)
}
M
cp "$FIXTURES/sim.json" .
qdq quantize spread.onnxtxt -e sim:sim.json -o a.onnx --plan-out a.json --equalize |
    grep equalized
qdq quantize spread.onnxtxt -e sim:sim.json -o j.onnx --json --equalize | grep -A3 equalized
grep clean a.json | grep -o 'equalize[^,"]*'
qdq quantize spread.onnxtxt --plan a.json -q -o b.onnx >/dev/null && cmp a.onnx b.onnx
qdq optimize spread.onnxtxt -o c.onnx -q --passes equalize >/dev/null
qdq copy c.onnx -o c.onnxtxt && grep -o 'w_equalized = .*\|v_equalized = .*' c.onnxtxt
qdq quantize spread.onnxtxt --plan a.json --equalize -o d.onnx
