# what does not go together, and values that are none
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx "$@"
    echo "$?"
}
try --max-drop 1%
try --max-drop 0.5 --labels y
try --max-drop -1 --labels y --calib random:1
try --max-drop 1percent --labels y --calib random:1
try --max-drop nan --labels y --calib random:1
try --max-drop 1 --labels y --calib random:1
try --best-effort
try --min-sqnr 10 --no-sqnr
try --eval random:1 --dry-run
try --eval none.npz
try --min-agreement 0
try --min-agreement 1.5
try --min-agreement much
try --min-agreement 0.9 --no-sqnr
ls
