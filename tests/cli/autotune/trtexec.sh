# needs: ort
# from end to end on a stand-in for trtexec: calibrated on ort, timed by the program
fake=$BUILD/tests/fake_trtexec
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/nine.npy" .
touch a.so
tune() {
    qdq autotune conv.onnx --target tensorrt --engine trtexec --trtexec "$fake" \
        --plugin-libraries a.so "$@"
    echo "exit code $?"
}
tune -o tuned --trtexec-args '--warmUp=100' --timing-cache timing.cache --calib nine.npy --json --progress never |
    grep -E '"(engine|verdict|placement_only)"|exit'
ls tuned/model.onnx tuned/plan.json timing.cache
qdq inspect tuned/model.onnx --json | grep -c -i QuantizeLinear
echo "a goal that nothing meets: judged on ort"
tune -o exact --calib nine.npy --min-sqnr 150 --json --progress never 2>exact.txt | grep -E '"verdict"|exit'
echo "a program that is no trtexec, one that crashes, one that finds no kernel"
tune -o none --trtexec false --progress never
FAKE_TRTEXEC=crash tune -o crash --progress never
FAKE_TRTEXEC=no_kernel tune -o kernel --progress never
echo "a run that goes on measures nothing twice"
tune -o tuned --trtexec-args '--warmUp=100' --timing-cache timing.cache --calib nine.npy --json --progress never |
    grep -E '"(resumed|verdict)"'
echo "on a noisy machine, no more pairs than usual: each is two processes, however short it says it was"
FAKE_TRTEXEC=noisy tune -o noisy --calib nine.npy --json --progress never |
    awk -F'[:,]' '/"timings"/ { print ($2 < 300 ? "some" : $2) " pairs" } /exit/'
