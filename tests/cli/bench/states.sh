# needs: ort
# A sequence, step by step: on sim each step of decoder.onnxtxt takes as long.
cp "$FIXTURES/decoder.onnxtxt" "$FIXTURES/tokens.npy" "$FIXTURES/sum.onnxtxt" .
sed 's/"noise": 0.01/"noise": 0/' "$FIXTURES/sim.json" >sim.json
bench() { qdq bench "$@" --rounds 3 || echo "exit $?"; }
caches="--state present_key=past_key --state present_value=past_value --mask attention_mask"
bench decoder.onnxtxt decoder.onnxtxt -e sim:sim.json $caches --data tokens.npy
bench decoder.onnxtxt -e sim:sim.json $caches --steps 7 --warmup 1 --json |
    grep -E '_ms|"runs"|steps'
echo "one run, and the sequences of two engines"
bench sum.onnxtxt -e sim:sim.json | tail -n 1
bench sum.onnxtxt -e sim:sim.json,sim:sim.json --state t=s --steps 2
echo "what is fed back fits: the mask, and the model that reads the cache of the step before"
bench decoder.onnxtxt $caches --steps 3 2>/dev/null | grep -c '^decoder.* 1.000'
sed 's/MatMul(p, present_value)/MatMul(p, past_value)/' decoder.onnxtxt >late.onnxtxt
bench late.onnxtxt $caches --data tokens.npy 2>&1 | grep -o "^qdq: error: [^:]*: engine 'ort': step 0"
