# needs: ort
# With a goal an LSTM has its data quantized at run time, unless one format is asked for or an
# option names one; and weights in blocks get more bits.
cat >lstm.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
net (float[8,1,64] x) => (float[8,1,1,64] y)
<float zero = {0}, float end = {16384}, float one = {1}, float tenth = {0.1}, int64[3] shape = {1, 256, 64}> {
  a = Range(zero, end, one)
  b = Sin(a)
  c = Mul(b, tenth)
  w = Reshape(c, shape)
  [lstm] y = LSTM <hidden_size = 64> (x, w, w)
}
M
cat >products.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
net (float[16,64] x) => (float[16,64] y)
<float zero = {0}, float end = {4096}, float one = {1}, float two = {2}, int64[2] shape = {64, 64}> {
  a = Range(zero, end, one)
  b = Sin(a)
  v = Reshape(b, shape)
  c = Mul(a, two)
  d = Cos(c)
  w = Reshape(d, shape)
  [first] t = MatMul(x, v)
  s = Tanh(t)
  [second] y = MatMul(s, w)
}
M
quantize() { # quantize MODEL OPTION...
    qdq quantize "$1.onnxtxt" -o q.onnx -f -q --calib random:3 --json "${@:2}" >out.json
    echo "-> $?"
}
operators() { qdq inspect q.onnx | grep -oE '[0-9]+ +(com.microsoft::[A-Za-z]+|LSTM|MatMul)$'; }
for options in '--min-sqnr 20' '--min-sqnr 20 --one-format' '--min-sqnr 20 --format uint8' \
    '--min-sqnr 20 --set weight.method=mse' '--min-sqnr 90' '--min-sqnr 0' '--min-agreement 0.5'; do
    echo "== $options"
    quantize lstm $options
    operators
    grep -o '"recurrent": [a-z]*' out.json
done
echo "== blocks"
quantize products --target ort-cpu-int4 --min-sqnr 28 --one-format 2>/dev/null
quantize products --target ort-cpu-int4 --min-sqnr 28
grep -q '"form": "uint8, blocks of 32"' out.json && echo "a layer has 8 bits"
