# needs: corpus ort
qdq quantize "$MODELS/digits/digits_cnn.onnx" -o q.onnx --calib "$MODELS/digits/digits_calib.npz" --samples 64 --json
qdq compare "$MODELS/digits/digits_cnn.onnx" q.onnx --data "$MODELS/digits/digits_test.npz" --labels label --min-sqnr 20 --json >compared.json
echo $?
grep -A 3 accuracy compared.json
