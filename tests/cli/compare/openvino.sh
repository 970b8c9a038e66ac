# needs: openvino
cp "$MODELS/digits/digits_cnn.onnx" a.onnx
qdq compare a.onnx a.onnx --data random:1 --engine openvino
qdq compare a.onnx a.onnx --data random:1 --engine openvino --openvino-library ./missing.so
