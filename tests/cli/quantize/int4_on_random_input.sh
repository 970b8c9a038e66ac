# Scales of weights need no data, but what random samples give is no accuracy, and none is held out.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
for format in int4 int8; do
    qdq quantize conv.onnx -e sim:sim.json -o q.onnx -f --format $format --min-sqnr 0 |
        grep -A1 '^accuracy'
done
