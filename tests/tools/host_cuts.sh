#!/bin/bash
# host_cuts.sh SOURCE BUILD [CUTS] - searches on sim over a link that is cut, up to 30 times in each
# until it was cut CUTS times (default 30), after numbers of bytes that a seed decides, by closing
# it and by killing the program there: the same plan, the same model, and each pair of samples once.
set -euo pipefail
source=$(realpath "$1")
build=$(realpath "$2")
wanted=${3:-30}
work=$(mktemp -d "${TMPDIR:-/tmp}/qdq-cuts-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
[ -x "$build/tests/link_breaker" ] && [ -x "$build/qdq-worker" ] || {
    echo "SKIP: qdq-worker or link_breaker is not built" >&2
    exit 77
}

tune() { # tune DIR OPTION...
    local dir=$1
    shift
    "$build/qdq" autotune "$source/tests/models/digits/digits_cnn.onnx" -o "$dir" --data random:4 \
        --engine "sim:$source/tests/cli/fixtures/sim.json" --target ort-cpu -q "$@"
}
# what was measured, without the moments
samples() { sed -n '/"timings"/p; /"builds"/p' "$1/report.json"; }

tune here
cuts=0
for ((run = 1; cuts < wanted; run++)); do
    # by turns long ways and short ones, and a cache that is empty or full
    mean=$((run % 3 == 0 ? 40000 : run % 3 == 1 ? 10000 : 5000))
    ((run % 2 == 0)) || rm -rf cache
    rm -rf there state
    tune there --host "exec:$build/tests/link_breaker state $run 30 $mean $build/qdq-worker --serve --cache-dir $work/cache"
    cmp here/plan.json there/plan.json
    cmp here/model.onnx there/model.onnx
    [ "$(samples here)" = "$(samples there)" ] || {
        echo "seed $run: other samples: $(samples here) and $(samples there)"
        exit 1
    }
    n=$(cat state)
    cuts=$((cuts + (n < 30 ? n : 30)))
done
[ -z "$(ls cache/runs)" ] || [ "$(find cache/runs -mindepth 1 -maxdepth 1 | wc -l)" -le 2 ] || {
    echo "folders of dead connections stay: $(ls cache/runs)"
    exit 1
}
echo "$cuts cuts, the same plan"
