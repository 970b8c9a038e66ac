# needs: ort
cp "$MODELS"/digits/digits_{cnn,vit}.onnx "$MODELS/digits/digits_test.npz" .
qdq compare digits_cnn.onnx digits_vit.onnx --data digits_test.npz --labels label --samples 100 \
    --json
