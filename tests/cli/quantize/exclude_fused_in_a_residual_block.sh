# The convolution keeps its name and that of its result when a BatchNormalization is folded into it.
qdq copy "$FIXTURES/residual.onnxtxt" -o residual.onnx
cp "$FIXTURES/sim.json" .
q() {
    echo "== $*"
    qdq quantize residual.onnx -e sim:sim.json -o q.onnx -f --calib random:1 --min-sqnr 0 "$@" --json |
        grep 'excluded by the user'
}
q --exclude =/r1/bb/BatchNormalization
q --exclude BatchNorm
qdq inspect residual.onnx --why /r1/bb/BatchNormalization
