# needs: ort
# float16 alone misses the goal: exit code 6, and the folder has the converted model
cp "$MODELS"/digits/digits_{cnn.onnx,calib.npz} .
qdq autotune digits_cnn.onnx -o tuned --calib digits_calib.npz -n 8 --rest fp16 --min-sqnr 150 -q
echo "exit code $?"
cmp tuned/model.onnx tuned/baseline.onnx && echo "the model without Q/DQ"
qdq inspect tuned/model.onnx | grep -i 'float16\|Q/DQ' | head -3
