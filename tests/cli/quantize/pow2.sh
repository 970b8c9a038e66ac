# Scales that are powers of two: in the plan, in the model, and beside all formats; a model that is
# imported tells.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
look() {
    qdq quantize conv.onnx -e sim:sim.json -q --no-sqnr -f -o q.onnx --plan-out plan.json "$@" \
        >/dev/null || { echo "$* -> $?"; return; }
    echo "$*: $(sed -n 's/.*"scale": \([^,]*\),.*/\1/p' plan.json | sort -u | tr '\n' ' ')" $(grep \
        -c '"pow2": true' plan.json)
    qdq import q.onnx -o back.json -f -q >/dev/null
    echo "  read back: $(grep -c '"pow2": true' back.json)"
    qdq quantize conv.onnx -q --plan plan.json -f -o again.onnx >/dev/null
    cmp q.onnx again.onnx
}
look
look --pow2
look --pow2 --format fp8
look --pow2 --format int4
look --pow2 --format int16 --asymmetric
look --set activation.pow2=true
look --pow2 --rest fp16
qdq quantize conv.onnx -o q.onnx --plan plan.json --pow2
