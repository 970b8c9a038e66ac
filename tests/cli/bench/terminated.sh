# needs: ort
cp "$MODELS/digits/digits_cnn.onnx" a.onnx
qdq bench a.onnx --rounds 1000000 &
sleep 0.5
kill -TERM $!
wait $!
