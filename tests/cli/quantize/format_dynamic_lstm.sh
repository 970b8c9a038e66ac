# needs: ort
# LSTMs whose data is quantized at run time: what becomes of them and why others stay, a plan that
# gives the same bytes, a second run that changes nothing, the way back, and one next to calibrated
# nodes.
cat >net.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
net (float[20,2,48] x, int32[2] lens, float[20,2,40] odd, float[1,192,48] given, bool c)
    => (float[20,2,2,48] y, float[1,2,48] h, float[20,1,2,48] z, float[20,1,2,16] s, float[20,1,2,48] free,
        float[20,1,2,48] v, float[2,20,1,48] first, float[20,1,2,48] g, float[20,1,2,48] branch)
<float zero = {0}, float one = {1}, float end = {18432}, float ten = {0.1}, float p_end = {288},
 int64[3] both = {2, 192, 48}, int64[2] peep = {2, 144}, float half = {9216}, int64[3] single = {1, 192, 48},
 float few = {3072}, int64[3] small = {1, 64, 48}, float fewer = {1024}, int64[3] tiny = {1, 64, 16},
 float gates = {6912}, int64[3] three = {1, 144, 48}, int64[3] turn = {1, 0, 2}> {
  r = Range(zero, end, one)
  sines = Sin(r)
  w_ = Mul(sines, ten)
  w = Reshape(w_, both)
  r2 = Cos(r)
  r3 = Mul(r2, ten)
  rec = Reshape(r3, both)
  pr = Range(zero, p_end, one)
  ps = Sin(pr)
  p = Reshape(ps, peep)
  [two] y, h2, c2 = LSTM <hidden_size = 48, direction = "bidirectional"> (x, w, rec, "", lens, "", "", p)
  a = Range(zero, half, one)
  b = Cos(a)
  d = Mul(b, ten)
  one_w = Reshape(d, single)
  [shared] z, h = LSTM <hidden_size = 48, clip = 2.0> (x, one_w, one_w)
  e = Range(zero, few, one)
  f = Sin(e)
  small_w = Reshape(f, small)
  i = Range(zero, fewer, one)
  j = Sin(i)
  small_r = Reshape(j, tiny)
  [small] s = LSTM <hidden_size = 16> (x, small_w, small_r)
  [free] free = LSTM <hidden_size = 48> (x, given, one_w)
  k = Range(zero, gates, one)
  l = Sin(k)
  m = Mul(l, ten)
  gru_w = Reshape(m, three)
  [gru] g = GRU <hidden_size = 48> (x, gru_w, gru_w)
  [reverse] v = LSTM <hidden_size = 48, direction = "reverse"> (x, one_w, one_w)
  [if] branch = If <then_branch = t () => (float[20,1,2,48] u) {
                      [inside] u = LSTM <hidden_size = 48> (x, one_w, one_w)
                    }, else_branch = o () => (float[20,1,2,48] q) {
                      [outside] q = LSTM <hidden_size = 48> (x, one_w, given)
                    }> (c)
  bt = Transpose <perm = [1, 0, 2]> (x)
  [first] first = LSTM <hidden_size = 48, layout = 1> (bt, one_w, one_w)
}
M
grep -v 'layout\|bt =' net.onnxtxt | sed 's/, float\[2,20,1,48\] first//' >runs.onnxtxt
qdq quantize net.onnxtxt --format dynamic --no-sqnr -o q.onnx -q -f --plan-out p.json >/dev/null
grep -E '"op": "(LSTM|GRU)"' p.json
echo "== without the one that the engine refuses"
qdq quantize runs.onnxtxt --format dynamic -o q.onnx --plan-out p.json -f 2>/dev/null |
    sed -n '/^quantized/,/^accuracy/p' | grep -v ^accuracy
qdq inspect q.onnx | grep -E 'LSTM|GRU'
qdq compare runs.onnxtxt q.onnx --data random:3 --json | grep -oE '"sqnr_db": ([0-9]+|null)' |
    awk '$2 < 20 && $2 != "null" { print "too far away: " $0 } END { print NR " outputs compared" }'
qdq quantize runs.onnxtxt --plan p.json -o again.onnx -f -q -q --no-sqnr >/dev/null
cmp q.onnx again.onnx && echo "the plan gives the same bytes"
qdq quantize q.onnx --format dynamic -o second.onnx -f -q -q --no-sqnr >/dev/null
cmp q.onnx second.onnx && echo "a second run changes nothing"
qdq check q.onnx --target ort-cpu -e ort | grep '8 bits' | sed 's/;.*Q and DQ/;/'
qdq import q.onnx -o i.json -f -q && qdq strip q.onnx -o f.onnx -f -q >/dev/null
qdq inspect f.onnx | grep -E 'LSTM|GRU'
qdq quantize f.onnx --plan i.json -o back.onnx -f -q -q --no-sqnr >/dev/null
qdq compare q.onnx back.onnx --data random:2 --json | grep -c '"equal": true'
echo "== fewer nodes, other weights"
qdq quantize runs.onnxtxt --format dynamic --exclude '^two$' -o q.onnx --plan-out p.json -f -q -q \
    --no-sqnr >/dev/null
grep -E '"node": "(two|small)"' p.json
qdq quantize runs.onnxtxt --format dynamic --include '^(two|small)$' --per-tensor --cpu avx2 -o q.onnx \
    --plan-out p.json -f -q -q --no-sqnr >/dev/null
grep -oE '"consumers": \[\["(two|small)".*"store": "dynamic"' p.json
qdq quantize runs.onnxtxt --format dynamic --set weight.symmetric=false -o q.onnx \
    --plan-out p.json -f -q -q --no-sqnr >/dev/null
grep -E '"node": "two"' p.json
echo "== the default format"
qdq quantize runs.onnxtxt --calib random:2 -o q.onnx -f --no-sqnr 2>/dev/null | grep LSTM
qdq quantize runs.onnxtxt --calib random:2 -o q.onnx -f --no-sqnr -q -q --set \
    'overrides=[{"op": "LSTM", "activation": {"type": "float"}, "weight": {"store": "dynamic"}}]' >/dev/null
qdq inspect q.onnx | grep -E 'LSTM|GRU'
