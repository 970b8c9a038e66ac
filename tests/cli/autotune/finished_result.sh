# The result of a finished run is not replaced by one of other options or another model; the same run, and -f, go on.
. "$FIXTURES/chain.sh"
chain 3 >m.onnxtxt
chain 4 >other.onnxtxt
cp "$FIXTURES/sim.json" .
tune() { # tune OPTION...
    qdq autotune "$@" -e sim:sim.json -q >/dev/null
    echo "$* -> $?: $(qdq autotune --status run | grep -o 'finished\|failed\|interrupted' | head -1)"
}
result() { cat run/model.onnx run/plan.json run/report.json | cksum; }
tune m.onnxtxt -o run --seed 1
before=$(result)
tune m.onnxtxt -o run --seed 2 2>&1
tune m.onnxtxt -o run --seed 2 2>&1
tune other.onnxtxt -o run --seed 1 2>&1 | sed -E 's/[0-9a-f]{32}/HASH/g'
[ "$before" = "$(result)" ] && echo "nothing has changed"
tune m.onnxtxt -o run --seed 1
tune m.onnxtxt -o run --seed 2 -f
tune m.onnxtxt -o run --seed 1 2>&1
