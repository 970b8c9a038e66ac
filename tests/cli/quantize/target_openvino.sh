# needs: ort
# Placed by the rules of OpenVINO, calibrated by ONNX Runtime: codes are unsigned where nothing is
# negative, as behind Relu.
cp "$MODELS"/digits/digits_{cnn,convnext}.onnx "$MODELS"/digits/digits_calib.npz .
qdq quantize digits_cnn.onnx -o q.onnx --target openvino --cpu avx512 \
    --calib digits_calib.npz --samples 32 --no-sqnr --plan-out plan.json |
    sed -n '/^quantized/,/^$/p'
grep -c '"type": "uint8", "scale"' plan.json
grep -c '"type": "int8", "scale"' plan.json
qdq quantize digits_cnn.onnx -o again.onnx --plan plan.json --no-sqnr >/dev/null &&
    cmp q.onnx again.onnx
qdq quantize q.onnx -o twice.onnx --target openvino --cpu avx512 --no-sqnr |
    sed -n '/^quantized/,/^$/p'
qdq quantize digits_cnn.onnx --target openvino --cpu avx512 \
    --set activation.unsigned_if_non_negative=false \
    --calib digits_calib.npz --samples 32 --dry-run --json |
    grep -c '"type": "uint8", "scale"'
qdq quantize digits_convnext.onnx -o c.onnx --target openvino --cpu avx512 \
    --calib digits_calib.npz --samples 32 --no-sqnr | sed -n '/^quantized/,/^$/p'
qdq check q.onnx --target openvino --cpu avx512 --strict
echo $?
qdq check c.onnx --target openvino --cpu avx512
qdq check q.onnx --target tensorrt | tail -n 3
