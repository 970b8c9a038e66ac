# how models are run: warm-up, shapes, and what a seed makes of random inputs
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
costs() { # costs MORE: Conv takes longer for larger outputs
    cat <<END
{"qdq_sim": 1, "noise": 0.001, "overhead_us": 10, "error": 0.001, "convert": {"float_us": 1}, "default": {"float_us": 2},
 "ops": {"Conv": {"float_us_per_k": 1000, "int8_us": 1, "int8_us_per_k": 500, "inputs": 2}}$1}
END
}
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune conv.onnx -o "$dir" -q --trials 1 "$@" >/dev/null
    echo "$* -> $?"
}
ratio() { awk -v a="$(value "$1" baseline_ms)" -v b="$(value "$2" baseline_ms)" \
    'BEGIN { printf "%.1f times\n", a / b }'; }
costs '' >sim.json
tune one -e sim:sim.json
tune fixed -e sim:sim.json --shape image=1x2x6x6
tune three -e sim:sim.json --shape image=3x2x6x6
ratio fixed one
ratio three one

# a machine that gets twice as slow with its 2000th timed block: with many warm-up runs that is
# before the first of them
costs ', "fail": [{"at": "time", "nth": 2000, "slow": 2}]' >tiring.json
tune cold -e sim:tiring.json
tune warm -e sim:tiring.json --warmup-runs 2000
ratio warm cold
