# Data quantized at run time: an LSTM has no other form in 8 bits. Options that name a format
# prevent it, and so does another engine than the one of the target.
w=$(awk 'BEGIN { for (i = 0; i < 64; i++)
    printf "%s%.3f", (i ? ", " : ""), (i * 37 % 64 - 32) / 32 }')
cat >lstm.onnxtxt <<EOF
<ir_version: 8, opset_import: ["" : 17]>
g (float[6,1,4] x) => (float[6,1,1,4] y) <float[1,16,4] w = {$w}, float[1,16,4] r = {$w}> {
  [lstm] l = LSTM <hidden_size = 4> (x, w, r)
  y = Tanh(l)
}
EOF
qdq copy lstm.onnxtxt -o lstm.onnx
cat >costs.json <<'EOF'
{"qdq_sim": 1, "noise": 0.004, "ops": {"LSTM": {"float_us": 300},
  "DynamicQuantizeLSTM": {"float_us": 100}}}
EOF
qdq targets ort-cpu --json >ort.json
sed 's/"engine": "ort"/"engine": "sim"/' ort.json >sim.json
try() {
    echo "$1: ${*:3}"
    qdq autotune lstm.onnx -o "$1" -e sim:costs.json --target "$2" "${@:3}" 2>&1 |
        grep -E "^at run time|^result" | sed -E 's/, [0-9.]+x.*//'
    sed -n '/"at_run_time"/,/]/p' "$1/report.json" | grep -E '"(node|op)"'
    grep -c '"store": "dynamic"' "$1/plan.json"
}
try region sim.json
try subgraph sim.json --mode subgraph
try named sim.json --weight-type int8
try type sim.json --type int8
try engine ort.json
for options in --no-sqnr --one-format; do
    echo "quantize --autotune $options"
    qdq quantize lstm.onnx -o q.onnx -f --autotune=quick -e sim:costs.json --target sim.json \
        $options 2>&1 | grep "at run time"
done
true
