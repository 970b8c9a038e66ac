# needs: ort
cp "$MODELS"/digits/digits_{cnn.onnx,calib.npz,test.npz} .
qdq quantize digits_cnn.onnx -o q.onnx --calib digits_calib.npz --samples 64 --json >out
echo $?
sed -n '/"samples"/,/}/p' out
grep placement_only out
qdq compare digits_cnn.onnx q.onnx --data digits_test.npz --labels label --min-sqnr 20 --json \
    >compared
echo $?
grep -A 3 accuracy compared
