# needs: ort
# What a goal is asked of stands beside it: the column 'bound', not the SQNR.
for goal in 20 35 0; do
    echo "== $goal"
    qdq quantize "$MODELS/digits/digits_cnn.onnx" -f -o q.onnx -t 1 --min-sqnr $goal \
        --calib "$MODELS/digits/digits_calib.npz" | grep "^goal:"
done
echo "== the default"
qdq quantize "$MODELS/digits/digits_cnn.onnx" -f -o q.onnx -t 1 \
    --calib "$MODELS/digits/digits_calib.npz" | grep "^goal:"
