# --mode subgraph under a goal: minimum cuts look for what keeps it
. "$FIXTURES/chain.sh"
chain 12 >m.onnxtxt
sed 's/"error": 0.001/"error": 0.01/' "$FIXTURES/sim.json" >sim.json
cp "$FIXTURES"/{nine.npy,classes.npy,labelled.npz} .
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
sed 's/"error": 0.001/"error": 20/' "$FIXTURES/sim.json" >coarse.json
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR MODEL OPTION...
    local dir=$1 model=$2
    shift 2
    qdq autotune "$model" -o "$dir" --mode subgraph -v "$@" >/dev/null 2>"$dir.log"
    echo "$dir $* -> $?: $(value "$dir" verdict)"
}
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -g | head -n 1)" = "$1" ] &&
    echo "$1 dB at least"; }
tune free m.onnxtxt -e sim:sim.json --calib random:3 --no-sqnr
grep -c evaluated free.log
tune some m.onnxtxt -e sim:sim.json --calib random:3 --min-sqnr 8
at_least 8 "$(value some sqnr_db)"
grep -q 'everything: outputs: SQNR' some.log && echo "everything misses it"
tune none m.onnxtxt -e sim:sim.json --calib random:3 --min-sqnr 90
grep -o 'no placement that is faster keeps the goal' none.log
for most in 0% 60%; do
    tune "drop-$most" conv.onnx -e sim:coarse.json --calib nine.npy --eval labelled.npz \
        --labels classes.npy --max-drop "$most"
    grep -o 'accuracy: [0-9.]*, [0-9.]* points' "drop-$most.log" | sed 's/[0-9.]\+/N/g' | sort -u
done
