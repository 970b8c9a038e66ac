# what the search found of nodes, for Model Explorer
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
tune() {
    qdq autotune conv.onnx -o tuned -e sim:sim.json --progress never "$@" >out.txt
    echo "$* -> $?"
}
tune --overlay no/where.json
tune --overlay nodes.json --calib nine.npy
grep -o '^nodes.json' out.txt
sed 's/"value": [0-9.e-]*/"value": N/' nodes.json
grep -c '"picture-data"' tuned/report.html
tune --overlay nodes.json
tune --overlay nodes.json -f --calib nine.npy --mode subgraph
sed 's/"value": [0-9.e-]*/"value": N/' nodes.json
ls
