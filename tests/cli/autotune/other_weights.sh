# Weights in blocks: each product is float or has the fastest weights that hold the goal. Options
# that name a format leave the choice between those and float, and so does a run without a goal;
# `quantize --autotune` does the same.
cat >net.onnxtxt <<'EOM'
<ir_version: 10, opset_import: ["" : 21]>
g (float[4,256] x) => (float[4,256] y) <float zero = {0}, float end = {65536}, float one = {1},
    int64[2] square = {256, 256}> {
  r = Range(zero, end, one)
  s = Sin(r)
  w = Reshape(s, square)
  c = Cos(r)
  v = Reshape(c, square)
  [first] p = MatMul(x, w)
  q = Tanh(p)
  [second] y = MatMul(q, v)
}
EOM
qdq optimize net.onnxtxt -o net.onnx >/dev/null
cat >costs.json <<'EOM'
{"qdq_sim": 1, "noise": 0.004, "weight_error": 0.02, "ops": {"MatMul": {"float_us": 100},
  "MatMulNBits": {"float_us": 170}, "MatMulNBits 4 32 4": {"float_us": 60},
  "MatMulNBits 4 128 4": {"float_us": 30}, "MatMulNBits 8 32 4": {"float_us": 50}}}
EOM
qdq targets ort-cpu-int4 --json >ort.json
sed 's/"engine": "ort"/"engine": "sim"/' ort.json >sim.json
weights() { # of a plan: type, blocks and level of each
    sed -nE 's/.*"type": "([a-z0-9]*)".*"accuracy_level": ([0-9]).*"block": ([0-9]*).*/\1 \3 \2/p' "$1" |
        sort | uniq -c | tr -s ' '
}
try() {
    echo "$1: ${*:3}"
    qdq autotune net.onnx -o "$1" -e sim:costs.json --target "$2" "${@:3}" 2>&1 |
        grep -E "blocks of|^result" | sed -E 's/, [0-9.]+x.*//'
    weights "$1/plan.json"
}
try region sim.json --min-sqnr 20
try subgraph sim.json --mode subgraph --min-sqnr 20
try eight sim.json --min-sqnr 40
try none sim.json --min-sqnr 90
try without sim.json
try named sim.json --min-sqnr 20 --block-size 32
try engine ort.json --min-sqnr 20
echo "quantize --autotune"
qdq quantize net.onnx -o q.onnx -f --autotune=quick -e sim:costs.json --target sim.json \
    --min-sqnr 20 2>&1 | grep "blocks of"
qdq quantize net.onnx -o q.onnx -f --autotune=quick -e sim:costs.json --target sim.json \
    --min-sqnr 20 --one-format 2>&1 | grep -c "blocks of"
true
