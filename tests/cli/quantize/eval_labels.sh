# needs: ort
cp "$MODELS/digits/digits_cnn.onnx" "$MODELS/digits/digits_calib.npz" \
    "$MODELS/digits/digits_test.npz" .
try() {
    qdq quantize digits_cnn.onnx -o q.onnx -f -t 1 -n 8 --calib digits_calib.npz "$@" |
        grep -e ^top -e ^accuracy
    echo "${PIPESTATUS[0]}"
}
try --eval digits_test.npz --labels label
try --eval digits_test.npz --labels nothing
try --labels label
try --eval digits_test.npz --labels x
