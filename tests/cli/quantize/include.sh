# as with VNNI
# Which nodes: names, regular expressions, operators; each shows in the plan.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
eight_bits() {
    echo "$*: $(qdq quantize conv.onnx -e sim:sim.json --calib random:3 --no-sqnr -q -f -o q.onnx --json "$@" |
        sed -n '/"quantized": {/,/}/p' | tr -d ' \n')"
}
eight_bits
eight_bits --include conv
eight_bits -i =conv1
eight_bits --include GEMM
eight_bits --exclude-op-types Gemm
eight_bits --op-types Gemm
eight_bits --exclude-op-types Gemm,Conv
