# a goal counts, too, where the precision that ships changes the types of inputs and outputs: on
# sim, whose outputs follow the bytes of the inputs, it is missed
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
for mode in region subgraph; do
    for goal in "--min-sqnr 0" "--min-sqnr 30"; do
        rm -rf tuned
        # shellcheck disable=SC2086 # two words, or none
        qdq autotune conv.onnx -o tuned -e sim:sim.json --calib nine.npy --preset quick \
            --mode $mode --rest fp16 --direct-io $goal \
            --json -q 2>/dev/null | grep '"verdict"'
    done
done
