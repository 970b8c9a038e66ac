qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy linear.onnx -o - --external-data always | wc -c
exit "${PIPESTATUS[0]}"
