# needs: openvino
cp "$MODELS/digits/digits_cnn.onnx" a.onnx
qdq quantize a.onnx -o q.onnx --calib random:4 --engine openvino | head -n 1 |
    sed "s, openvino [0-9.]*, openvino VERSION,"
qdq quantize a.onnx -o r.onnx --calib random:4 -e openvino --openvino-library ./missing.so
