# needs: ort
# few samples, and few layers to take back: it also has to end on a machine that does other things
qdq quantize "$MODELS/digits/digits_cnn.onnx" -o q.onnx -t 1 \
    --calib "$MODELS/digits/digits_calib.npz" \
    --samples 32 --weight-type int4 --bias-correction=off --eval "$MODELS/digits/digits_test.npz" \
    --labels label --max-drop 0.2% --json >out
echo "$?"
grep -c '"holds": false' out | sed 's/[1-9][0-9]*/some/'
grep -c '"holds": true' out | sed 's/[1-9][0-9]*/some/'
grep '"reached"' out
qdq quantize "$MODELS/digits/digits_vit.onnx" -o q.onnx -f -t 1 \
    --calib "$MODELS/digits/digits_calib.npz" --samples 32 \
    --min-sqnr 42 | sed -n '/^to reach/,$p'
