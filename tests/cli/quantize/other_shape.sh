# needs: ort
# durations decide how long the output is: they are compared in its place, and another length misses
# every goal
weights() { awk -v n=16384 \
    'BEGIN {for (i = 0; i < n; i++) printf "%s%.3f", i ? ", " : "", (i * 37 % 101 - 50) / 100}'; }
cat >speech.onnxtxt <<M
<ir_version: 8, opset_import: ["" : 13]>
speech (float[N,128] x) => (float[M] y)
<float[128,128] w = {$(weights)},
 float fast = {7}, int64 zero = {0}, int64 one = {1}, float level = {0.5}> {
  [product] a = MatMul(x, w) p = Abs(a) d = Mul(p, fast) durations = Ceil(d)
  sum = ReduceSum<keepdims = 0>(durations) length = Cast<to = 7>(sum)
  r = Range(zero, length, one) f = Cast<to = 1>(r) y = Mul(f, level)
}
M
quantize() {
    qdq quantize speech.onnxtxt -o q.onnx -f --calib random:3 --no-bench "$@" >out.txt 2>err.txt
    echo "$* -> $?"
    sed -n 's/^\(output\|y\|durations\)  .*/&/p' out.txt | sed 's/[0-9][0-9.]*/N/g; s/  */ /g'
    grep -o 'the goal is not reached.*' err.txt
}
quantize --min-sqnr 0
quantize --min-sqnr 60
qdq compare speech.onnxtxt q.onnx --data random:5 --min-sqnr 5 >/dev/null
