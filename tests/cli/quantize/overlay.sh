# formats and times of nodes, as Model Explorer reads them: by graph and by node
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
make() {
    qdq quantize conv.onnx "$@" >out.txt
    echo "$* -> $?"
}
times() { sed 's/"value": [0-9.e-]*/"value": N/' "$1"; }
make -e sim:sim.json --calib random:1 -o q.onnx --plan-out p.json --overlay nodes.json
grep -o '^nodes.json' out.txt
times nodes.json
make -e sim:sim.json --calib random:1 -o r.onnx --overlay nodes.json # is there
make -e sim:sim.json --calib random:1 -o r.onnx --overlay r.onnx
make -e sim:sim.json --calib random:1 -o r.onnx --overlay no/where.json
# without an engine: estimates, which say so
make --plan p.json -o t.onnx --overlay plan.json
times plan.json
# with a page it is the same drawing
make -e sim:sim.json --calib random:1 -o u.onnx --overlay both.json --report page.html --json
grep -o '"path": "both.json"' out.txt
ls
