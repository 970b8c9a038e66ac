# needs: openvino
# extensions of openvino: one that is not there, one that is none
try() {
    qdq "$@" 2>why.txt
    echo "exit code $?"
    sed "s|$PWD|HERE|g" why.txt >&2
}
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
try bench linear.onnx -e openvino --plugin-libraries ./none.so
echo text >text.so
cp "$BUILD/tests/twice_ort.so" .
try bench linear.onnx -e openvino --plugin-libraries text.so
try bench linear.onnx -e openvino --plugin-libraries twice_ort.so
