# needs: corpus ort
qdq quantize "$MODELS/real/ultraface_rfb320.onnx" -o q.onnx --calib "$MODELS/real/photos" --mean 127,127,127 --std 128,128,128 --samples 2
qdq check q.onnx
