# needs: ort
# Placed by the rules of TensorRT, calibrated by ONNX Runtime, which runs the result, too: with
# weights that its kernels add without saturation on every processor.
cp "$MODELS"/digits/digits_{convnext.onnx,calib.npz,test.npz} .
qdq quantize digits_convnext.onnx -o q.onnx --target tensorrt --calib digits_calib.npz \
    --set weight.pairs=true \
    --samples 32 --no-sqnr | sed -n '/^quantized/,/^$/p'
qdq compare digits_convnext.onnx q.onnx --data digits_test.npz --labels label --min-sqnr 26 \
    >/dev/null
echo $?
qdq targets tensorrt-fp8 >fp8.json
qdq quantize digits_convnext.onnx -o f.onnx --target ./fp8.json --calib digits_calib.npz \
    --samples 32 --no-sqnr | sed -n '/^quantized/,/^$/p'
qdq check f.onnx
