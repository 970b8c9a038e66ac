# needs: ort
# Ctrl-C; without `set -m` a script's background jobs ignore it.
cp "$MODELS/digits/digits_cnn.onnx" a.onnx
set -m
qdq bench a.onnx --rounds 1000000 &
sleep 0.5
kill -INT $!
wait $!
