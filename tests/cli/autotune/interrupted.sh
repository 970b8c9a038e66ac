# Ctrl-C in the middle: exit 130, the best so far on disk; the same command goes
# on and ends as if nothing had happened
set -m # a job of its own hears of Ctrl-C
. "$FIXTURES/chain.sh"
chain 40 >m.onnxtxt
sed 's/"seed"/"no_profile": true, "seed"/' "$FIXTURES/sim.json" >sim.json # more to measure
qdq autotune m.onnxtxt -o whole -e sim:sim.json --preset extensive -q >/dev/null
echo "whole $?"
interrupt() { # interrupt DIR SIGNAL...
    local dir=$1 i job
    shift
    : >log.txt
    qdq autotune m.onnxtxt -o "$dir" -e sim:sim.json --preset extensive >out.txt 2>log.txt &
    job=$!
    for ((i = 0; i < 1000; i++)); do
        grep -q '| start' log.txt && break
        sleep 0.02
    done
    kill -STOP $job # so that all of them are there before the first is looked at
    for signal in "$@"; do
        kill -"$signal" $job
    done
    kill -CONT $job
    wait $job
    code=$?
    while [ $code -eq $((128 + $(kill -l STOP))) ]; do # what has come back from wait was the stop
        wait $job
        code=$?
    done
    echo "$dir $* -> $code"
    grep error: log.txt
    cat out.txt
    ls "$dir"/model.onnx
    qdq check "$dir/model.onnx" -q >/dev/null && echo valid
    qdq autotune --status "$dir" | sed -n 's/^state: //p'
}
interrupt once INT
interrupt twice INT TERM
for dir in once twice; do
    qdq autotune m.onnxtxt -o $dir -e sim:sim.json --preset extensive --progress never | grep "earlier run"
    cmp $dir/plan.json whole/plan.json && cmp $dir/model.onnx whole/model.onnx &&
        echo "$dir: the same plan and model"
done
