# A model with open dimensions is judged and timed open, and with fixed shapes: it may be slower
# than float in neither.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/sim.json" .
# 8-bit kernels, once shapes are fixed
sed 's/"seed"/"int8_fixed_times": 20, "seed"/' sim.json >slow.json
value() { grep -o "\"$2\": [^,]*" "$1/report.json" | head -1; }
try() { # try DIR SIM OPTION...
    echo "$*"
    qdq autotune conv.onnxtxt -o "$1" -e "sim:$2" --progress never "${@:3}" >out.txt
    grep -E "^shapes|^not kept" out.txt
    tail -1 out.txt | cut -d, -f1-2
    value "$1" shapes
    value "$1" other_shapes
    grep -q "Shapes \(open\|fixed\)\." "$1/report.html" && echo "told in report.html"
}
try both sim.json
try slower slow.json
cmp slower/model.onnx slower/baseline.onnx && echo "float is written"
try shaped sim.json --shape image=1x2x6x6
try set sim.json --set-shape image=1x2x6x6
