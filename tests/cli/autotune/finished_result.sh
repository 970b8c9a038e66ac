# The result of a finished run is not replaced by one of other options or another model; the same
# run, and -f, go on.
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
echo "other data are noticed, even if they give the same plan: the same samples in another order"
cp "$FIXTURES"/{conv.onnxtxt,nine.npy} .
sample() { tail -c +$((129 + 288 * $1)) nine.npy | head -c $((288 * $2)); } # FIRST COUNT
{ head -c 128 nine.npy && sample 1 1 && sample 0 1 && sample 2 7; } >turned.npy
qdq autotune conv.onnxtxt -o nine -e sim:sim.json --calib nine.npy --min-sqnr 0 -q >/dev/null
qdq autotune conv.onnxtxt -o turned -e sim:sim.json --calib turned.npy --min-sqnr 0 -q >/dev/null
diff <(grep -v '"samples"' nine/plan.json) <(grep -v '"samples"' turned/plan.json) &&
    echo "one plan"
digits() { sed -E 's/[0-9a-f]{32}/HASH/g'; }
again() { # again COMMAND... DATA
    qdq "${@:1:$#-1}" conv.onnxtxt -e sim:sim.json --calib "${@: -1}" --min-sqnr 0 -q 2>&1 \
        >/dev/null | digits
    echo "${*: -1} -> ${PIPESTATUS[0]}"
}
again autotune -o nine nine.npy
again autotune -o nine turned.npy
again autotune -o nine -f turned.npy
echo "quantize, too"
again quantize --autotune -o a.onnx --autotune-dir run2 nine.npy
rm a.onnx
again quantize --autotune -o a.onnx --autotune-dir run2 nine.npy
rm a.onnx
again quantize --autotune -o a.onnx --autotune-dir run2 turned.npy
again quantize --autotune -o a.onnx --autotune-dir run2 -f turned.npy
echo "another engine, though of one name"
sed 's/"error": 0.001/"error": 0.002/' sim.json >other.json
qdq autotune conv.onnxtxt -o nine -e sim:other.json --calib turned.npy --min-sqnr 0 -q 2>&1 \
    >/dev/null | sed -E 's/[0-9a-f]{16}/DIGITS/g'
echo "options are named, each by its key"
option() { again autotune -o nine "$@" turned.npy; }
option -n 5
option --method mse
option --exclude '^conv'
option --rest fp16
option --no-optimize
option --eval nine.npy
option --mode subgraph
option --preset quick
option -n 5 --method mse --exclude-op-types Gemm --seed 3
