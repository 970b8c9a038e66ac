# A weight that holds several matrices has one scale, though a scale for each channel was asked for:
# that is told.
cat >batch.onnxtxt <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
batch (float[2,4,8] x) => (float[2,4,3] y) <float[2,8,3] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2,
    1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6,
    3.7, 3.8, 3.9, 4, 4.1, 4.2, 4.3, 4.4, 4.5, 4.6, 4.7, 4.8}>
{ y = MatMul(x, w) }
EOF
q() { qdq quantize batch.onnxtxt -o q.onnx -f -e "sim:$FIXTURES/sim.json" --set 'stay_float=[]' --no-sqnr -v "$@" 2>&1 | grep "one scale"; }
q --format dynamic --per-channel
q --format dynamic --per-tensor
q
