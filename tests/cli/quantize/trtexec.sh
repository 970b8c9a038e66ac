# needs: ort
# tuned on a stand-in for trtexec in one go with calibration and rules
touch a.so
fake=$BUILD/tests/fake_trtexec
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/nine.npy" .
qdq quantize conv.onnx -o out.onnx --calib nine.npy --target tensorrt --autotune=quick -e trtexec \
    --trtexec "$fake" \
    --trtexec-args '--warmUp=100' --timing-cache timing.cache --plugin-libraries a.so -q >/dev/null
echo "exit code $?"
ls out.onnx timing.cache
qdq inspect out.onnx --json | grep -c -i QuantizeLinear
echo "and by another engine"
qdq quantize conv.onnx -o other.onnx --calib nine.npy --trtexec-args=--fp16
echo "exit code $?"
