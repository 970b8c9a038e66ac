# needs: ort
# Without data no accuracy is called good, but one that is low already is told.
qdq quantize "$MODELS/digits/digits_cnn.onnx" -o q.onnx -t 1 | grep '^accuracy .*is' |
    sed 's/[0-9.]* dB/N dB/'
qdq quantize "$FIXTURES/linear.onnxtxt" -o l.onnx -t 1 | grep '^accuracy .*is'
true
