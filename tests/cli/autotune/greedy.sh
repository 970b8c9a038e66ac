# --strategy greedy: groups apart, merged, and proven on the whole model; with and without times of
# layers; going on; files
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
tell() { echo "strategy $(value "$1" strategy), by $(value "$1" apart_by), kept $(value "$1" kept), verdict $(value "$1" verdict)"; }
tune tuned -e sim:sim.json --strategy greedy --keep-models
tell tuned
ls tuned
ls tuned/subgraphs | wc -l
qdq inspect tuned/subgraphs/group_0.onnx | grep -c MatMul
echo "again: nothing is measured"
tune tuned -e sim:sim.json --strategy greedy --keep-models
value tuned resumed
echo "all or nothing"
tune whole -e sim:sim.json --no-incremental-validation
tell whole
echo "part by part is the default"
tune parts -e sim:sim.json --strategy greedy --incremental-validation
cmp tuned/plan.json parts/plan.json && echo "the same plan"
tune cut -e sim:sim.json --strategy mincut --incremental-validation --schemes-per-region 1
qdq autotune m.onnxtxt -o regions -e sim:sim.json -q --trials 1 --incremental-validation >/dev/null
echo "regions $?"
echo "an engine that tells no times of layers"
tune blind -e sim:blind.json --strategy greedy
tell blind
tune one -e sim:blind.json --strategy greedy --schemes-per-region 1
tell one
[ "$(value one apart_builds)" -lt "$(value blind apart_builds)" ] && echo "fewer models of groups"
echo "schemes that are known from a file are not measured apart"
mkdir known
cp tuned/autotune_cache.json known/
tune known -e sim:sim.json --strategy greedy
echo "$(value known apart_builds) models of groups"
tell known
echo "a torn file is set aside"
mkdir torn
head -c 100 tuned/autotune_cache.json >torn/autotune_cache.json
tune torn -e sim:sim.json --strategy greedy
ls torn | grep cache
tell torn
echo "the file of another run is read by the default strategy, too, and kept"
mkdir theirs
sed 's/"fingerprint": "/&other/' tuned/autotune_cache.json >theirs/autotune_cache.json
cp theirs/autotune_cache.json foreign.json
tune theirs -e sim:sim.json
cmp theirs/autotune_cache.json.old foreign.json &&
    grep -c '>autotune_cache.json<' theirs/report.html
tell theirs
mkdir unread
echo nonsense >unread/autotune_cache.json
tune unread -e sim:sim.json
cat unread/autotune_cache.json.bad
