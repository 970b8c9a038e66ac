# needs: ort
# measures
digits=$MODELS/digits
# the whole of it at most twice the time; the machine says how fast it is, and whether time is left
# for fixed shapes
qdq quantize "$digits/digits_cnn.onnx" -o q.onnx --calib "$digits/digits_calib.npz" 2>/dev/null |
    grep '^speed'
qdq quantize "$digits/digits_cnn.onnx" -f -o q.onnx --calib "$digits/digits_calib.npz" \
    --target tensorrt --min-sqnr 0 2>/dev/null | grep '^speed'
