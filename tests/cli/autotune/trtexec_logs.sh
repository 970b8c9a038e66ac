# needs: ort
# logs: commands of trtexec and what they printed, named after candidate or group and scheme; no
# password in them
. "$FIXTURES/mixed.sh"
mixed 1 >m.onnxtxt
fake=$BUILD/tests/fake_trtexec
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnxtxt --target tensorrt -e "trtexec:$fake" --calib random:2 --mode subgraph \
        -o "$dir" "$@" >/dev/null 2>"$dir.err"
    echo "$dir: exit code $?"
}
tune fp16 --strategy greedy --preset quick --trtexec-args --fp16
ls fp16/logs | sed 's/[0-9a-f]\{32\}/CANDIDATE/' | sort | uniq -c | sed 's/^ *//'
ls fp16 | grep fp16
log=$(ls fp16/logs/*.log | grep '[0-9a-f]\{32\}.log' | head -1)
echo "a candidate is built, and timed"
grep -c '^\$ .*--onnx=.*--fp16' "$log"
grep -q '^\$ .*--loadEngine=.*--exportTimes=' "$log" && grep -q '&&&& PASSED' "$log" &&
    grep -q 'GPU Compute Time' "$log" && echo yes
echo "and the builder's own output"
grep -c '^\$ .*--onnx=' fp16/model.fp16.build.log
grep -c '&&&& PASSED' fp16/model.fp16.build.log
cp fp16/model.fp16.build.log first.log
tune fp16 --strategy greedy --preset quick --trtexec-args --fp16
cmp first.log fp16/model.fp16.build.log && echo "a run that goes on leaves it as it was"
echo "of much, the beginning and the end"
export FAKE_TRTEXEC=chatty
tune chatty --max-builds 7 -i /b0/Depth --rest fp16
cp chatty/model.fp16.build.log chatty.log
grep -c 'bytes left out' chatty.log
[ "$(wc -c <chatty.log)" -lt 80000 ] && echo "not larger than its bound"
tail -20 chatty.log | grep -c '&&&& PASSED'
unset FAKE_TRTEXEC
echo "no password"
tune remote --trtexec-args '--remoteAutoTuningConfig=ssh://me:secret@board:22?path=/x'
tail -1 remote.err
grep -h -o 'ssh://me:[^ ]*' remote/logs/* | sort -u
grep -r -l secret remote
qdq bench m.onnxtxt -e "trtexec:$fake" --rounds 1 --warmup 1 -v -v 2>&1 >/dev/null |
    grep -c '\$ .*fake_trtexec --onnx='
