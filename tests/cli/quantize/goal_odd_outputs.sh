# needs: ort
# outputs that prove nothing, labels that do not fit
head='<ir_version: 8, opset_import: ["" : 17]>'
w='<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}, float z = {0}>'
echo "$head g (float[1,4] x) => (float[1,4] y) $w { t = MatMul(x, w) y = Mul(t, z) }" >zero.onnxtxt
echo "$head g (float[1,4] x) => (float[1,4] y) $w { t = MatMul(x, w) n = Neg(t) m = Mul(n, n) k = Neg(m) y = Sqrt(k) }" >nan.onnxtxt
echo "$head g (float[1,4] x) => (string[1,4] y) $w { t = MatMul(x, w) y = Cast<to = 8>(t) }" \
    >string.onnxtxt
echo "$head g (float[1,4] x) => (float[1,4,1] y) $w { t = MatMul(x, w) s = Softmax(t) y = Unsqueeze(s, i) }" |
    sed 's/float z = {0}/int64[1] i = {2}/' >column.onnxtxt
for model in zero nan string column; do
    qdq quantize $model.onnxtxt -o $model.onnx -q -t 1 --calib random:1 --min-sqnr 20 \
        --report $model.html >/dev/null
    echo "$model $?"
done
qdq quantize zero.onnxtxt -o one.onnx -q -t 1 --calib random:1 -n 1 --min-sqnr 20 --best-effort \
    >/dev/null
echo "one $?"
ls *.onnx *.html
