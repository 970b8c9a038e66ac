# as with VNNI
# A length that nobody gave became 1: bench says so, and so does quantize where random data stand
# in. A batch of 1 needs no word.
cat >open.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,T,4] x) => (float[N,T,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul(x, w) }
END
cp "$FIXTURES/sim.json" .
cp "$FIXTURES/open.onnxtxt" batch.onnxtxt
qdq bench open.onnxtxt -e sim:sim.json | head -2
qdq bench open.onnxtxt -e sim:sim.json --shape x=1x5x4 | head -1
qdq bench batch.onnxtxt -e sim:sim.json | head -2
qdq quantize open.onnxtxt -o q.onnx -e sim:sim.json --set 'stay_float=[]' | head -2
