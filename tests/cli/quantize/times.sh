# --times: a plan without the key changes nothing, one of another target is refused, and so is the
# option without a search
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" "$FIXTURES/nine.npy" .
hash=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
plan() { # TIMES
    echo '{"qdq_plan": 1, "model": "", "target": "t", "created_by": "", "clean": "", "opset": 0, "placement_only": false,'
    echo "$1"'"tensors": [], "weights": [], "biases": [], "quantized": [], "left_float": []}'
}
plan '' >none.json
plan '"times": {"processor": "p", "target": "mine", "target_sha256": "'$hash'", "trials": 3, "float_us": 9, "quantized_us": 5, "layers": []},' >other.json
plan '"times": {"processor": "p", "trials": 3},' >wrong.json
try() {
    qdq quantize conv.onnx -e sim:sim.json -q -f -o q.onnx "$@" >/dev/null
    echo "$?"
}
try --calib nine.npy --plan-out first.json
try --calib nine.npy --times none.json --plan-out again.json
cmp first.json again.json && grep -c times again.json
try --calib nine.npy --times other.json
try --calib nine.npy --times wrong.json
try --calib nine.npy --times missing.json
try --calib nine.npy --times none.json --min-sqnr 0
try --calib random:1 --times none.json
