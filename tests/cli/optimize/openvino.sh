# needs: openvino
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --check random:1 --engine openvino |
    tail -n 1
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out2.onnx --check random:1 --engine openvino \
    --openvino-library ./missing.so
