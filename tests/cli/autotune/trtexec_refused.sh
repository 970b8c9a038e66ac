# needs: ort
# options that trtexec refuses: each is tried once, in this run and in later ones on the same engine, and told once
. "$FIXTURES/mixed.sh"
mixed 1 >m.onnxtxt
cat >trtexec <<END
#!/bin/bash
echo "\$*" >>$PWD/calls
exec '$BUILD/tests/fake_trtexec' "\$@"
END
chmod +x trtexec
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    : >calls
    qdq autotune m.onnxtxt --target tensorrt -e trtexec:./trtexec --calib random:2 --mode subgraph -o "$dir" --max-builds 10 "$@" \
        >"$dir.txt" 2>"$dir.err"
    echo "exit code $?, $(grep -c -- "$option=\|$option " calls) with $option"
    grep 'refuses\|error' "$dir.err"
}
for option in --exportProfile --exportLayerInfo --profilingVerbosity --timingCacheFile --maxAuxStreams --separateProfileRun \
    --exportTimes --useCudaGraph; do
    export FAKE_TRTEXEC=refuse:$option
    tune "${option#--}"
done
option=--exportProfile
export FAKE_TRTEXEC=refuse:$option
echo "layers have their nodes, and no times"
qdq inspect m.onnxtxt --groups -e trtexec:./trtexec --json | grep -c '"us": null'
grep -c '"by": "exact"' exportProfile/model.fp32.graph.json
echo "known from the run before, also by one of another search"
tune exportProfile --seed 5 -f
tune exportProfile --strategy greedy -f
grep -h -o '"apart_by": "[a-z ]*"' exportProfile/report.json
tune exportProfile --strategy mincut -f
echo "whoever begins anew asks again"
tune exportProfile --restart
echo "several at once"
export FAKE_TRTEXEC=refuse:--exportProfile,refuse:--maxAuxStreams,refuse:--useSpinWait
tune several
