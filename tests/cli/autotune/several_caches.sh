# patterns that one cache alone knows are taken from it; those that several know, from the first
. "$FIXTURES/chain.sh"
chain 12 | sed "/\[act\(9\|1[01]\)\]/s/Relu/Tanh/" >m.onnxtxt
cp "$FIXTURES/sim.json" .
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
quantized() { sed -n '/"quantized"/,/]/s/.*"node": "\([^"]*\)".*/\1/p' "$1/plan.json" | sort |
    tr '\n' ' '; }
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnxtxt -o "$dir" -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?, $(grep -c pattern_signature "$dir/patterns.yaml") patterns, $(quantized "$dir")"
}
printf 'fc[0-3]\n' >front.txt
printf 'fc11\n' >back.txt
tune front --node-filter front.txt
tune back --node-filter back.txt
tune none --trials 1
tune one --trials 1 --pattern-cache back/patterns.yaml # the first trial is what the caches know
tune both --trials 1 --pattern-cache back/patterns.yaml --pattern-cache front/patterns.yaml

# of the same pattern, the first cache counts
tune all --min-refine-size 100
sed '/nodes_insertion_points/,/child_region_inputs/{/node_index: [1-9]/,/input_index/d}' \
    all/patterns.yaml >first.yaml
tune first --min-refine-size 100 --trials 1 --pattern-cache first.yaml \
    --pattern-cache all/patterns.yaml
tune last --min-refine-size 100 --trials 1 --pattern-cache all/patterns.yaml \
    --pattern-cache first.yaml
