# as with VNNI
# Quantizing a result with --rest once more with the same options gives the same bytes: codes of
# biases, and constants of bodies, are what they were.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy "$FIXTURES/qat.onnxtxt" -o qat.onnx
cat >bodies.onnxtxt <<'EOF'
<ir_version: 9, opset_import: ["" : 17]>
bodies (float[1,2,4,4] x) => (float[1,2,4,4] z)
<float[2,2,1,1] w = {0.5, 0.25, -0.5, 1}, float[2,2,1,1] v = {0.5, -0.25, -0.5, -1}, int64 n = {2}, float zero = {0}> {
  [c0] a = Conv(x, w)
  [s] s = Sigmoid(a)
  [mean] mean = ReduceMean <keepdims = 0> (s)
  [c] c = Greater(mean, zero)
  [if] h = If <then_branch = t () => (float[1,2,4,4] p) {
      [c1] u = Conv(s, v)
      [ts] r0 = Sigmoid(u)
      [c4] p = Conv(r0, v)
    }, else_branch = e () => (float[1,2,4,4] q) {
      [es] vv = Sigmoid(s)
      [c2] q = Conv(vv, w)
    }> (c)
  [loop] z = Loop <body = b (int64 i, bool g, float[1,2,4,4] l) => (bool d, float[1,2,4,4] r) {
      d = Identity(g)
      [ls] k = Sigmoid(l)
      [c3] r = Conv(k, v)
    }> (n, "", h)
}
EOF
cp "$FIXTURES/sim.json" .
while read -r model target; do
    for rest in bf16 fp16; do
        for out in q.onnx again.onnx; do
            from=$([ $out = q.onnx ] && echo "$model" || echo q.onnx)
            qdq quantize "$from" -e sim:sim.json --target "$target" --rest $rest -q --no-sqnr -f \
                -o $out >/dev/null
        done
        cmp q.onnx again.onnx &&
            echo "$model, $target, $rest: $(qdq inspect again.onnx | sed -n 's:^Q/DQ *::p')"
    done
done <<EOF
conv.onnx ort-cpu
qat.onnx ort-cpu
qat.onnx tensorrt
bodies.onnxtxt ort-cpu
EOF
