qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --shape image=4x2x6x6 --json | grep run_as
qdq inspect q.onnx | grep inputs
cp "$FIXTURES/nine.npy" .
for shape in '' '--shape image=1x2x6x6'; do
    # shellcheck disable=SC2086
    qdq quantize conv.onnx -e sim:sim.json -f -o q.onnx --calib nine.npy $shape --json |
        grep '"shapes"'
    # shellcheck disable=SC2086
    qdq quantize conv.onnx -e sim:sim.json -f -o q.onnx --calib nine.npy --min-sqnr 40 $shape |
        grep 'shapes'
done
