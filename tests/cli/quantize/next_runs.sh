# needs: ort
# What bench needs to run the models is in the command that is printed: states, shapes of open
# inputs, and names that a shell would take apart.
cat >sum.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
sum (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> {
  t = Add(s, x) y = MatMul(t, w)
}
M
cat >open.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[M,4] x, float[4,N] y) => (float[M,N] z) { a = MatMul(x, y) z = Neg(a) }
M
cat >fixed.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1,N,4] x) => (float[1,M] y) <int64[2] s = {1, 12}, float[12,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36}> {
  f = Reshape(x, s) y = MatMul(f, w)
}
M
run() {
    next=$(qdq quantize "$@" --set 'stay_float=[]' -f --no-bench 2>/dev/null | grep '^next: qdq bench')
    echo "$next"
    eval "${next#next: } --rounds 1" >table.txt 2>bench.err || sed 's/^/exit: /' bench.err
    grep -c '\.onnx' table.txt
}
run sum.onnxtxt -o q.onnx --format int4 --calib random:1 --state t=s --steps 3
run open.onnxtxt -o 'my q.onnx' --calib random:1 --shape x=3x4 --shape y=4x5
run fixed.onnxtxt -o q.onnx --calib random:1 --shape x=1x3x4
run fixed.onnxtxt -o q.onnx --calib random:1 --set-shape x=1x3x4
run fixed.onnxtxt -o q.onnx --calib random:1 --shape x=1x3x4 --engine-timeout 1.5m
