# needs: ort
# Names of the user hold for every plan that the search for the goal makes, also when a variant has
# taken the place of the first one.
cp "$MODELS/digits/digits_cnn.onnx" m.onnx
cp "$MODELS/digits/digits_calib.npz" calib.npz
qdq quantize m.onnx -o q.onnx --calib calib.npz --samples 8 --method max --op-types Conv \
    --exclude =r1 --min-sqnr 60 --no-bench -q >out.txt 2>&1
echo "exit code $?"
