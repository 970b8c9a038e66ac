# passes and folding as optimize has them
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?"
    [ ! -f tuned/plan.json ] || grep -ho '"clean": "[^"]*' tuned/plan.json | tr , '\n' |
        grep 'fold-constants'
}
try --no-fold Neg --fold-input-bytes 4KiB --fold-output-bytes 8KiB --growth-budget 0
try --passes default,-fold-constants
try --passes nothing
try --no-optimize --fold-only Neg
