# needs: corpus ort
qdq quantize "$MODELS/digits/digits_vit.onnx" -o q.onnx -q -t 1 --calib "$MODELS/digits/digits_calib.npz" \
    --eval "$MODELS/digits/digits_test.npz" --labels label --max-drop 0.2% --json >out
echo "$?"
grep -c '"holds": true' out | sed 's/[1-9][0-9]*/some/'
grep '"reached"' out
qdq quantize "$MODELS/digits/digits_vit.onnx" -o q.onnx -f -q -t 1 --calib "$MODELS/digits/digits_calib.npz" --min-sqnr 42 |
    sed -n '/^to reach/,$p'
