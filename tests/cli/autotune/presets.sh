# presets are a table (docs/autotune.md), and an option that is given beats it, also where it says
# the same: a run with the same settings is the same run
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
same() { # same PRESET OPTION...: as the preset alone?
    local preset=$1
    shift
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -e sim:sim.json -q --preset $preset >/dev/null
    qdq autotune conv.onnx -o tuned -f -e sim:sim.json --progress never --preset $preset "$@" >out.txt
    echo "$preset $* -> $?, $(grep -q 'earlier run' out.txt && echo the same || echo another)"
}
same quick
same quick --schemes-per-region 4
same quick --schemes-per-region 8
same default --schemes-per-region 8
same default --schemes-per-region 4
same extensive --schemes-per-region 32
same extensive --warmup-runs 2
same extensive --warmup-runs 3
same extensive --timing-runs 1
same extensive --timing-runs 2
same default --min-gain 0.3%
same default --min-gain 0.4%
qdq autotune conv.onnx -o tuned -e sim:sim.json --progress never --preset slow
echo "unknown preset -> $?"
qdq autotune missing.onnx -o tuned -e sim:sim.json --progress never
echo "missing model -> $?"
