# how the model is taken apart
. "$FIXTURES/chain.sh"
chain 12 >m.onnxtxt
sed 's|\[\([a-z0-9]*\)\]|["/block\1/\1"]|' m.onnxtxt >named.onnxtxt
cp "$FIXTURES/sim.json" .
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune MODEL OPTION...
    rm -rf tuned
    local model=$1
    shift
    qdq autotune $model.onnxtxt -o tuned -e sim:sim.json -q --trials 1 "$@" >/dev/null
    echo "$model $* -> $?: $(value tuned regions) regions, $(value tuned patterns) patterns"
}
tune m
tune m --mode region
tune m --region-builder structure
tune m --region-builder names
tune named
tune named --region-builder names
tune m --max-region-size 3
tune m --min-refine-size 100
