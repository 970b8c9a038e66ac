# needs: ort
# Exporters write such models, ONNX Runtime refuses them.
cp "$FIXTURES/shared_names.onnxtxt" .
qdq quantize shared_names.onnxtxt -o out.onnx --calib random:1 | grep -c SQNR
qdq bench out.onnx --rounds 3 --json | grep -c median_ms
