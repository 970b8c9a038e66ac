# what ends a search early, and how thorough it is
. "$FIXTURES/chain.sh"
chain 6 >m.onnxtxt
sed 's/"seed"/"no_profile": true, "seed"/' "$FIXTURES/sim.json" >sim.json # more to measure
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR OPTION...: into its own folder
    local dir=$1
    shift
    qdq autotune m.onnxtxt -o "$dir" -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?, budget used up: $(value "$dir" budget_used_up)"
}
more() { [ "$(value "$1" "$3")" -gt "$(value "$2" "$3")" ] && echo "$1 has more $3 than $2"; }
tune plain
tune time --time 0.001
tune minute --time 10m
tune trials --trials 1
tune builds --max-builds 3
more plain time builds
more plain trials builds
more plain builds builds
tune quick --preset quick --accept strict # all its pairs, which the preset bounds
tune default --preset default --accept strict
tune extensive --preset extensive --accept strict
more default quick timings
more extensive default timings
tune one --preset extensive --accept strict --schemes-per-region 1
more extensive one timings
tune sequential --accept sequential
tune strict --accept strict
more strict sequential timings
[ "$(value plain timings)" = "$(value sequential timings)" ] && echo "sequential is the default"
tune picky --min-gain 49%
tune calm --min-gain 3
value plain verdict
value picky verdict
tune seeded --seed 3
tune unseeded --seed 0
cmp unseeded/plan.json plain/plan.json && echo "0 is the default"
