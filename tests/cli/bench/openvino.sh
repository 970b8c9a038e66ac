# needs: openvino
qdq bench "$MODELS/digits/digits_qat_bn.onnx" --engine openvino --rounds 6
qdq bench "$FIXTURES/conv.onnxtxt" -e openvino --openvino-library ./missing.so
