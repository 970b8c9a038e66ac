# needs: openvino
cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt -T ort-cpu -e openvino --openvino-library ./missing.so
