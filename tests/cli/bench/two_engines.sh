# needs: ort openvino
qdq bench "$MODELS/digits/digits_qat_bn.onnx" --engine ort,openvino --rounds 6
qdq bench "$MODELS/digits/digits_qat_bn.onnx" --engine openvino,ort \
    --openvino-library ./missing.so --rounds 6
