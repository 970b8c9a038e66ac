# needs: ort
# ONNX Runtime takes the Relu into the Conv.
qdq inspect "$FIXTURES/conv.onnxtxt" --groups --engine ort
