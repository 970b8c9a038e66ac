# as with VNNI
# needs: ort
# Sequences calibrate and evaluate; the step in the middle is timed, with the states that it has
# there. What sim computes from other states are other numbers: no goal.
cp "$FIXTURES/decoder.onnxtxt" "$FIXTURES/tokens.npy" "$FIXTURES/sim.json" .
caches="--state present_key=past_key --state present_value=past_value --mask attention_mask"
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune decoder.onnxtxt -o "$dir" -e sim:sim.json --progress never "$@" >out.txt ||
        echo "exit $?"
    grep -E "^shapes|^times|^result|^input" out.txt
}
tune tuned --calib tokens.npy $caches --min-sqnr 0
grep -E '"(steps|timed_step|judged_on|shapes|not_measured|resumed)"' tuned/report.json
grep -o 'Times of step [0-9 of]*' tuned/report.html
echo "again, and without the mask, which the data lack"
tune tuned --calib tokens.npy $caches --min-sqnr 0 | tail -n 1
grep '"resumed"' tuned/report.json
tune tuned --calib tokens.npy ${caches% --mask*} --min-sqnr 0
echo "a goal that later steps miss"
tune goal --calib tokens.npy $caches --min-sqnr 20
echo "random steps, and a state that keeps its shape"
cp "$FIXTURES/sum.onnxtxt" .
qdq autotune sum.onnxtxt -o sum -e sim:sim.json --state t=s --steps 3 --progress never |
    grep -E "^times|^result"
echo "quantize --autotune"
qdq quantize decoder.onnxtxt -o q.onnx -e sim:sim.json --target ort-cpu --calib tokens.npy $caches \
    --min-sqnr 0 --autotune=quick --autotune-dir both 2>/dev/null | grep -E "^accuracy against"
grep '"steps"' both/report.json
