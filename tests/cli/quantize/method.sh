# as with VNNI
# All methods run. The default is the target's method, max unless it says so; mistakes are found
# before a model is read.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq quantize conv.onnx -e sim:sim.json --calib random:3 --dry-run --json "$@" >plan.json
    echo "$* -> $? $(cmp -s plan.json first.json && echo as the first)"
}
try
cp plan.json first.json
try --method max
try --method moving-average
for method in entropy entropy-compat percentile mse auto; do
    try --method $method
done
try --method percentile --percentile 100
try --set activation.method=moving-average
try --set activation.method=best
try --method best
try --method percentile --percentile 50
# Weights have a method of their own, and the plan says what it found.
qdq quantize conv.onnx -e sim:sim.json --calib random:3 --dry-run --json --set weight.method=mse \
    2>/dev/null >plan.json
grep -c '"clip_step": 0.0125' plan.json
qdq quantize conv.onnx -e sim:sim.json --calib random:3 -q --set weight.method=mse -o a.onnx \
    --plan-out a.json >/dev/null
qdq quantize conv.onnx --plan a.json -q -o b.onnx >/dev/null && cmp a.onnx b.onnx
