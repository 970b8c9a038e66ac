# needs: ort
# ONNX Runtime would leave a file of its telemetry, but for ORT_DISABLE_TELEMETRY.
cp "$MODELS/digits/digits_cnn.onnx" .
mkdir tmp
export TMPDIR=$PWD/tmp
set -m
qdq quantize digits_cnn.onnx -o q.onnx --calib random:1 --samples 1000000 &
sleep 1
kill -INT $!
wait $!
code=$?
ls -A . tmp
exit $code
