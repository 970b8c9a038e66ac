# The summary judges the accuracy in words, and names the next step.
# needs: ort
q() {
    qdq quantize "$MODELS/digits/digits_cnn.onnx" -f -o q.onnx -t 1 --calib "$MODELS/digits/digits_calib.npz" "$@" |
        grep '^accuracy is\|^next' | sed "s|$MODELS/digits/||g"
}
q
q --format int4
