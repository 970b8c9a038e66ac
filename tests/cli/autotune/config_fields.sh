# what Model-Optimizer has in its Config, each with its effect
. "$FIXTURES/chain.sh"
chain 6 >m.onnxtxt
sed 's/"seed"/"no_profile": true, "seed"/' "$FIXTURES/sim.json" >sim.json # more to measure
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR OPTION...: six decisions in one region
    local dir=$1
    shift
    qdq autotune m.onnxtxt -o "$dir" -e sim:sim.json -q --min-refine-size 100 --preset extensive \
        --keep-models "$@" >/dev/null
    echo "$* -> $?"
}
fewer() { [ "$(value "$1" builds)" -lt "$(value "$2" builds)" ] &&
    echo "$1 tries fewer models than $2"; }
tried() { ls "$1/region_models"; }

tune plain
tune single --max-mutations 1 # each change of one decision was tried before any is made by chance
fewer single plain
tune drawn_once --max-attempts 1
fewer drawn_once plain
tune three --max-mutations 3 --max-attempts 100
[ "$(tried three)" = "$(tried plain)" ] && echo "these are the defaults"
tune seeded --seed 1
tune again --seed 1
[ "$(tried seeded)" = "$(tried again)" ] && [ "$(tried seeded)" != "$(tried plain)" ] &&
    echo "another seed tries other models, the same seed the same"

# 30 schemes of the one pattern, the first the fastest
{
    sed -n '/^pattern_schemes/,/pattern_size/p' plain/patterns.yaml
    echo '  schemes:'
    for ((k = 1; k <= 30; k++)); do
        printf '  - latency_ms: %d.5\n    nodes_insertion_points:\n' $k
        for ((i = 0; i < 6; i++)); do
            ((k >> i & 1)) && printf '    - {node_index: %d, input_index: 0}\n' $((2 * i))
        done
    done
} >many.yaml
tune far --pattern-cache many.yaml
tune near --pattern-cache many.yaml --pattern-cache-distance 1
fewer far near
tune two --pattern-cache many.yaml --pattern-cache-distance 1 --pattern-cache-entries 2
fewer two near
tune all --pattern-cache many.yaml --pattern-cache-distance 1 --pool-share 100%
fewer near all
tune fastest --pattern-cache many.yaml --pattern-cache-distance 1 --pool-least 1
fewer fastest near
tune defaults --pattern-cache many.yaml --pattern-cache-distance 4 --pattern-cache-entries 32 \
    --pool-share 10% --pool-least 10
[ "$(tried defaults)" = "$(tried far)" ] && echo "these are the defaults"
head -2 far/patterns.yaml two/patterns.yaml

# what differs in these is another run
same() {
    qdq autotune m.onnxtxt -o plain -f -e sim:sim.json --progress never --min-refine-size 100 \
        --preset extensive \
        --keep-models "$@" |
        grep 'earlier run' || echo "$*: another run"
}
same
same --max-mutations 2
same --pool-share 20%
same --pattern-cache many.yaml
qdq autotune m.onnxtxt -o told -e sim:sim.json -v 2>&1 >out.txt |
    sed \
        -n \
        's/^qdq: note: trial 1, start, [a-z]*: gain [0-9.]* % (.*pairs), kept$/each trial is told/p'
