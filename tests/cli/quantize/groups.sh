# Samples that belong together are on one side of a fold, and of the samples that are held out.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/sim.json" "$FIXTURES/labelled.npz" .
cp "$MODELS"/digits/digits_{cnn.onnx,test.npz} .
q() { qdq quantize "$@" -f --engine sim:sim.json; }
samples() { grep -A 6 '"samples": {' | grep -E '"(calibration|sqnr|unseen_fraction|cross_validated)"'; }
echo "- ten groups: 59 samples are of the first one, and those after it are held out"
digits() {
    q digits_cnn.onnx -o q.onnx --calib digits_test.npz -n 50 --min-sqnr 0 --json "$@" | samples
}
digits
digits --groups label
echo "- folds"
q conv.onnxtxt -o q.onnx --calib labelled.npz --groups label --json | samples
q conv.onnxtxt -o q.onnx --calib labelled.npz --groups label | grep "samples do not show"
echo "- autotune, too"
qdq autotune conv.onnxtxt -o run -e sim:sim.json --calib labelled.npz --groups label -q | grep -c .
echo "exit ${PIPESTATUS[0]}"
echo "- what cannot be"
q conv.onnxtxt -o q.onnx --calib labelled.npz --groups nothing
echo "exit $?"
q conv.onnxtxt -o q.onnx --groups label
echo "exit $?"
q conv.onnxtxt -o q.onnx --calib random:1 --groups label
echo "exit $?"
q conv.onnxtxt -o q.onnx --calib labelled.npz --groups image
echo "exit $?"
