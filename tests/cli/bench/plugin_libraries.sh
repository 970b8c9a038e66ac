# needs: ort
# operators of a library of the user's, on ort: timed and quantized with it, refused without
cp "$BUILD"/tests/twice_*.so .
try() {
    qdq "$@" 2>why.txt
    echo "exit code $?"
    sed "s|$PWD|HERE|g" why.txt >&2
}
cat >m.onnxtxt <<'EOF'
<ir_version: 8, opset_import: ["" : 17, "test.qdq" : 1]>
m (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1, -2, 3, -4, 5, -6, 7, -8}>
{
  [mm] h = MatMul(x, w)
  [twice] y = test.qdq.Twice(h)
}
EOF
qdq bench m.onnxtxt --plugin-libraries twice_ort.so --rounds 2 | grep -c m.onnxtxt
qdq quantize m.onnxtxt -o q.onnx --calib random:0 --samples 2 --set 'stay_float=[]' \
    --plugin-libraries twice_ort.so -q >/dev/null
echo "exit code $?"
qdq inspect q.onnx --json | grep -c QuantizeLinear
qdq compare m.onnxtxt q.onnx --data random:1 --plugin-libraries twice_ort.so -q >/dev/null
echo "exit code $?"
qdq inspect m.onnxtxt --groups --plugin-libraries twice_ort.so --json | grep -A1 '"nodes"' |
    grep -v nodes | sort | uniq | grep -c .
echo "without it, with one that registers nothing, one that is not there, one that is no library"
try bench m.onnxtxt
try quantize m.onnxtxt -o none.onnx --calib random:0 -q
try bench m.onnxtxt --plugin-libraries twice_unregistered.so
try bench m.onnxtxt --plugin-libraries ./none.so
echo text >text.so
try bench m.onnxtxt --plugin-libraries text.so
