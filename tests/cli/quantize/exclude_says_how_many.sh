# A regular expression may match more than is meant: a note has the count. A name is one node.
qdq copy "$FIXTURES/residual.onnxtxt" -o residual.onnx
cp "$FIXTURES/sim.json" .
q() {
    echo "== $*"
    qdq quantize residual.onnx -e sim:sim.json -o q.onnx -f --calib random:1 --min-sqnr 0 "$@" |
        grep -E 'excluded by|note:'
}
q --exclude r1 --exclude Add
q --exclude =/r1/Add
q --include Relu --exclude r1
