# --mode subgraph: what is decided together, in how many builds, and what does not go with it
. "$FIXTURES/chain.sh"
chain 12 >m.onnxtxt
cp "$FIXTURES/sim.json" .
sed 's/"qdq_sim": 1,/"qdq_sim": 1, "no_profile": true,/' sim.json >blind.json
value() { sed -n "s/^  \"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnxtxt -o "$dir" --mode subgraph -q "$@" >/dev/null
    echo "$dir $* -> $?"
}
tune tuned -e sim:sim.json
echo "$(value tuned mode), $(value tuned groups) groups, $(value tuned keys) keys, verdict $(value tuned verdict)"
[ "$(value tuned builds)" -le 12 ] && echo "12 builds at most"
ls tuned
tune few -e sim:sim.json --max-builds 8
[ "$(value few builds)" -le 8 ] && echo "8 builds at most"
echo "an engine that tells no times of layers"
tune blind -e sim:blind.json
echo "verdict $(value blind verdict), strategy $(value blind strategy)"
tune refused -e sim:blind.json --strategy mincut
echo "what does not go together"
printf '{"Layers": [{"Name": "k", "Metadata": "[ONNX Layer: another]"}]}' >layers.json
tune other -e sim:sim.json --layer-info layers.json
tune none -e sim:sim.json --layer-info nowhere.json
tune none --strategy mincut --no-incremental-validation
tune none --strategy greedy --pareto 3
tune none --region-builder names
tune none --max-region-size 3
tune none --pattern-cache patterns.yaml
tune none --max-mutations 4
tune none -e sim:sim.json --max-builds 6
qdq autotune m.onnxtxt -o none --strategy mincut
qdq autotune m.onnxtxt -o none --layer-info layers.json
ls none 2>/dev/null | wc -l
