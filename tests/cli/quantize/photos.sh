# needs: ort
cp -rL "$MODELS/real/ultraface_rfb320.onnx" "$MODELS/real/photos" .
qdq quantize ultraface_rfb320.onnx -o q.onnx --calib photos --mean 127,127,127 --std 128,128,128 \
    --samples 2 --min-sqnr 0
qdq check q.onnx
