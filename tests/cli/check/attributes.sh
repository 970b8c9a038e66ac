# Attributes that end engines: check finds them by itself, and no command hands them to an engine.
cat >blocks.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4,2,2] x) => (y) { [d] y = DepthToSpace <blocksize = 4294967296> (x) }
M
cat >batch.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[2,2] x, int64[1,1] i) => (y) { [g] y = GatherND <batch_dims = -9223372036854775808> (x, i) }
M
cp "$FIXTURES/sim.json" .
for m in blocks batch; do
    qdq check $m.onnxtxt
    echo "exit $?"
    qdq bench $m.onnxtxt -e sim:sim.json
    echo "exit $?"
    qdq quantize $m.onnxtxt -e sim:sim.json -o out.onnx
    echo "exit $?"
done
