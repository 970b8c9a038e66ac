# what lies in the folder, what is gone on with, and what begins anew
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
tune() {
    qdq autotune conv.onnx -o tuned -f -e sim:sim.json --progress never "$@" >out.txt
    echo "$* -> $?, $(grep -c 'earlier run' out.txt) times an earlier run"
}
tune
ls tuned
cmp conv.onnx tuned/baseline.onnx && echo "the baseline is the model"
qdq check tuned/model.onnx --progress never && echo valid
qdq quantize conv.onnx --plan tuned/plan.json -o applied.onnx -q >/dev/null
cmp applied.onnx tuned/model.onnx && echo "the plan makes the model"
tune
tune --restart
tune
tune --seed 5
tune --threads 2
tune --warmup-runs 4
tune --timing-runs 3
tune --keep-models --restart
ls tuned/region_models | grep -q onnx && echo "models are kept"
rm -r tuned
tune --store shared.db
ls shared.db tuned/tune.db
rm -r tuned
tune --store shared.db
