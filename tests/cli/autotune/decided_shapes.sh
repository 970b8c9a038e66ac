# needs: ort
# The shape of an output may depend on data: what decides it is judged, and what gives another shape
# has missed the goal.
cat >m.onnxtxt <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
speech (float[1,64] x) => (float[L] sound)
<float[64] ones = {1}, int64[1] all = {-1}, float zero = {0}, float one = {1}, float scale = {3}>
{
  c = ConstantOfShape <value = float[1] {0.031}> (square)
  [mix] m = MatMul(x, c)
  [gate] g = Abs(m)
  [out] d = MatMul(g, c)
  [length] durations = ReduceSum <keepdims = 0> (d)
  long = Mul(durations, scale)
  up = Ceil(long)
  [sound] sound = Range(zero, up, one)
}
EOF
sed -i 's/<float\[64\] ones = {1}, /<int64[2] square = {64, 64}, /' m.onnxtxt
value() { grep -o "\"$2\": [^,]*" "$1/report.json" | head -1 | sed 's/[0-9.-]*[0-9]/N/g'; }
qdq autotune m.onnxtxt -o run --calib random:8 --min-sqnr 10 --preset quick -q >/dev/null || exit
grep -c 'has another shape than' run/report.json
qdq autotune m.onnxtxt -o high --calib random:8 --min-sqnr 200 --preset quick \
    --progress never >out.txt || exit
grep -c 'has another shape than' high/report.json
tail -1 out.txt | cut -d, -f1
value high rules_why
grep -o "output '[a-z]*'" run/report.json | sort -u
