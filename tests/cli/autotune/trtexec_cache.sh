# needs: ort
# the timing cache: one for all builds of a run, locked while a build has it, replaced at once
sed 's/\[N,/[1,/g' "$FIXTURES/conv.onnxtxt" >conv.onnxtxt # other dims are timed, too
qdq copy conv.onnxtxt -o conv.onnx
rm conv.onnxtxt
fake=$BUILD/tests/fake_trtexec
export FAKE_TRTEXEC_CALLS=$PWD/calls
mkdir tmp
export TMPDIR=$PWD/tmp
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    rm -f calls
    qdq autotune conv.onnx --target tensorrt -e "trtexec:$fake" --calib random:2 -o "$dir" -q \
        --min-gain 49% "$@" >/dev/null
    echo "$dir: exit code $?"
}
same() { # same FILE: it has a line for each build so far
    local builds=$(grep -c -- --onnx= calls)
    [ "$(wc -l <"$1")" = "$builds" ] && echo "$1: a line for each build" ||
        echo "$1: $(wc -l <"$1") lines, $builds builds"
}
tune regions
same regions/timing.cache
tune groups --mode subgraph --strategy greedy
same groups/timing.cache
tune own --timing-cache own.cache
same own.cache
ls own | grep -c timing
tune users --trtexec-args "--timingCacheFile=users.cache"
same users.cache
ls tmp
echo "three at once"
for i in 1 2 3; do
    FAKE_TRTEXEC=slow_cache qdq bench conv.onnx -e "trtexec:$fake" --timing-cache shared.cache \
        --rounds 1 --warmup 1 -q >/dev/null &
done
wait
wc -l <shared.cache
echo "one that dies while it writes; one that builds nothing; what is no place for a file"
bench() { # bench CACHE
    qdq bench conv.onnx -e "trtexec:$fake" --timing-cache "$1" --rounds 1 --warmup 1 >/dev/null
    echo "exit code $?"
}
FAKE_TRTEXEC=torn_cache bench shared.cache
wc -l <shared.cache
FAKE_TRTEXEC=no_kernel bench new.cache
ls new.cache
bench none/new.cache
mkdir folder.cache
bench folder.cache
ls
