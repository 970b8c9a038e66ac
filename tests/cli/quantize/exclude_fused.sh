# a node of the input that cleaning fused means the node that it became
qdq copy "$FIXTURES/batchnorm.onnxtxt" -o bn.onnx
cp "$FIXTURES/sim.json" .
q() {
    echo "== $*"
    qdq quantize bn.onnx -e sim:sim.json -o q.onnx -f --calib random:1 --min-sqnr 0 "$@" --json |
        grep -E 'excluded by the user|not included|"weights"'
}
q
q --exclude =norm
q --exclude '^norm$'
q --include =norm
q --exclude =same
qdq inspect bn.onnx --why norm
