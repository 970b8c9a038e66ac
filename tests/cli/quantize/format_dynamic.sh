# needs: ort
# Products whose data is quantized at run time: no calibration, the traps of weights and biases, a
# plan that gives the same bytes, a second run that changes nothing, and the way back.
cat >net.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
net (float[n,96] x, float[2,3,96] x3, float[96,96] u, float[1,8,9,9] image, bool c)
    => (float[n,96] y, float[n,96] z, float[n,96] g, float[n,96] odd, float[2,3,96] r3, float[n,96] free,
        float[96,96] ta, float[n,96] al, float[1,8,9,9] dw, float[n,96] branch)
<float zero = {0}, float end = {9216}, float twice = {18432}, float few = {72}, float eight = {768},
 float one = {1}, int64[2] square = {96, 96}, int64[3] stack = {2, 96, 96}, int64[4] taps = {8, 1, 3, 3},
 int64[2] tall = {96, 8}, float scalar = {1.5}> {
  r = Range(zero, end, one)
  s = Sin(r)
  w = Reshape(s, square)
  [product] y = MatMul(x, w)
  h = Relu(x)
  [shared] z = MatMul(h, w)
  bias_r = Range(zero, eight, one)
  cosine = Cos(r)
  v = Reshape(cosine, square)
  [gemm] g = Gemm <transB = 1> (x, v, scalar)
  row_i = Range(zero, eight, one)
  [odd] o = MatMul(x, v)
  odd = Add(scalar, o)
  r2 = Range(zero, twice, one)
  s2 = Sin(r2)
  w3 = Reshape(s2, stack)
  [rank3] r3 = MatMul(x3, w3)
  [free] free = MatMul(x, u)
  [transposed] ta = Gemm <transA = 1> (u, w)
  [scaled] al = Gemm <alpha = 2.0> (x, w)
  rt = Range(zero, few, one)
  st = Sin(rt)
  k = Reshape(st, taps)
  [depthwise] dw = Conv <group = 8, pads = [1, 1, 1, 1]> (image, k)
  [if] branch = If <then_branch = t () => (float[n,96] p) { [inside] p = MatMul(x, v) },
                    else_branch = e () => (float[n,96] q) { q = Tanh(x) }> (c)
}
M
qdq quantize net.onnxtxt --format dynamic -o q.onnx --plan-out p.json -f 2>/dev/null |
    sed -n '/^quantized/,/^accuracy/p' | grep -v ^accuracy
qdq inspect q.onnx | grep -E 'MatMulInteger|DynamicQuantize'
qdq compare net.onnxtxt q.onnx --data random:5 --json | grep -oE '"sqnr_db": ([0-9]+|null)' |
    awk '$2 < 25 && $2 != "null" { print "too far away: " $0 } END { print NR " outputs compared" }'
qdq quantize net.onnxtxt --plan p.json -o again.onnx -f -q -q --no-sqnr >/dev/null
cmp q.onnx again.onnx && echo "the plan gives the same bytes"
qdq quantize q.onnx --format dynamic -o second.onnx -f -q -q --no-sqnr >/dev/null
cmp q.onnx second.onnx && echo "a second run changes nothing"
qdq check q.onnx --target ort-cpu -e ort | grep '8 bits' | sed 's/;.*Q and DQ/;/'
qdq import q.onnx -o i.json -f -q && qdq strip q.onnx -o f.onnx -f -q >/dev/null
qdq inspect f.onnx | grep -cE 'MatMulInteger|DynamicQuantize'
qdq quantize f.onnx --plan i.json -o back.onnx -f -q -q --no-sqnr >/dev/null
qdq compare q.onnx back.onnx --data random:2 --json | grep -c '"equal": true'
echo "== fewer nodes, other weights"
qdq quantize net.onnxtxt --format dynamic --exclude '^gemm$' --op-types Gemm,MatMul -o q.onnx -f \
    2>/dev/null |
    sed -n '/^quantized/,/^$/p'
qdq quantize net.onnxtxt --format dynamic --include '^product$' --per-tensor --cpu avx2 -o q.onnx \
    --plan-out p.json -f -q -q >/dev/null
grep -oE '"tensor": "w".*"store": "dynamic"' p.json
qdq quantize net.onnxtxt --format dynamic --json -o q.onnx -f -q -q | grep -A 4 '"plan": {'
echo "== refused"
qdq quantize net.onnxtxt --format dynamic -T openvino -o q.onnx -f
qdq quantize net.onnxtxt --format dynamic --activation-type uint8 -o q.onnx -f
qdq quantize net.onnxtxt --format dynamic --weight-type int4 -o q.onnx -f
qdq quantize net.onnxtxt --format dynamic --block-size 32 -o q.onnx -f
qdq autotune net.onnxtxt --format dynamic -o d
