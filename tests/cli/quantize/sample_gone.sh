# A model that is written is no failure because a sample cannot be read when the summary is printed:
# the plan takes its place.
cp "$FIXTURES/sim.json" .
cat >open.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,T,6] x) => (float[N,T,2] y)
<float[6,2] w = {0.25, -0.5, 0.125, 1, 0.5, 0.75, -0.25, -1, 0.5, 0.5, -0.125, 0.25}>
{
  y = MatMul(x, w)
}
END
for format in "" --json; do
    rm -rf data
    mkdir data
    cp "$FIXTURES/rank3.npy" data/0.npy
    cp "$FIXTURES/rank3.npy" data/1.npy
    qdq quantize open.onnxtxt -o q.onnx -f -e sim:sim.json --calib data --no-sqnr \
        --plan-out data/0.npy --set 'stay_float=[]' $format | grep -E 'run as|next:|run_as|q.onnx"'
    echo "exit ${PIPESTATUS[0]}"
    qdq check q.onnx
done
