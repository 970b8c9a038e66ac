# needs: terminal
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
script -qec 'qdq copy linear.onnx -o -' /dev/null </dev/null | tr -d '\r'
exit "${PIPESTATUS[0]}"
