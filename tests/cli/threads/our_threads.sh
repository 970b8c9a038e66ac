# Our own loops give the same bytes however many threads share them: weights of 90,000 elements are
# cut into pieces.
cat >big.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
big (float[2,300] x) => (float[2,300] y)
<float zero = {0}, float end = {90000}, float one = {1}, int64[2] square = {300, 300}> {
  r = Range(zero, end, one)
  s = Sin(r)
  w = Reshape(s, square)
  c = Cos(r)
  v = Reshape(c, square)
  h = MatMul(x, w)
  g = Relu(h)
  y = Gemm <transB = 1> (g, v)
}
M
cp "$FIXTURES/sim.json" .
check() {
    for n in 1 2 5; do
        OMP_NUM_THREADS=$n qdq quantize big.onnxtxt -e sim:sim.json -q -q -f -o $n.onnx "$@" \
            >/dev/null || echo "$*: exit $?"
    done
    cmp 1.onnx 2.onnx && cmp 1.onnx 5.onnx &&
        echo "$*: $(qdq inspect 1.onnx | grep -E 'Q/DQ|initializers' | tr -s ' ' | paste -sd ' ')"
}
check --weight-method mse
check --method auto --per-tensor
check --method entropy --weight-asymmetric
check -T int4 --weight-method awq-full
check -T int4 --weight-method mse --block-size 32 --weights nbits
check -T ort-cpu-int4
check -T tensorrt-fp8
check --exclude . --rest bf16
