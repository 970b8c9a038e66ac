# --min-agreement: a fraction of rows; a run that keeps it
. "$FIXTURES/chain.sh"
chain 4 >m.onnxtxt
cp "$FIXTURES/sim.json" .
try() {
    qdq autotune m.onnxtxt -o tuned -f -q -e sim:sim.json --calib random:1 --time 3s "$@" >/dev/null
    echo "-> $?"
}
try --min-agreement 1.5
try --min-agreement 0
try --min-agreement 0.5
