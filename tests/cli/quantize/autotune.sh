# calibration, rules and tuning in one go; the folder of the run is gone on with
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
tune() {
    qdq quantize conv.onnx -e sim:sim.json --calib nine.npy --progress never "$@" >out.txt
    echo "$* -> $?"
    grep -e '^tuned in' -e 'earlier run' out.txt
    tail -1 out.txt | sed 's/[0-9][0-9.]*/N/g'
}
tune -o a.onnx --autotune
ls
cmp a.onnx a.onnx.tune/model.onnx && echo "the tuned model"
tune -o a.onnx -f --autotune
tune -o b.onnx --autotune=quick --autotune-dir run --plan-out b.json --cache-out ranges.json \
    --report b.html
cmp b.json run/plan.json && echo "the tuned plan"
ls ranges.json b.html
tune -o c.onnx --autotune=off
cmp a.onnx c.onnx >/dev/null || echo "another model without tuning"
tune -o d.onnx --autotune --min-sqnr 200
qdq quantize conv.onnx -e sim:sim.json --autotune --progress never -o e.onnx --json |
    grep -c -e '"verdict": "tuned"' -e '"mode": "region"'
echo "autotune: extensive" >a.yaml
tune -o f.onnx --config a.yaml
echo "autotune: true" >a.yaml
tune -o g.onnx --config a.yaml
