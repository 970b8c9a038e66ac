qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
echo "[]" >plan.json
qdq quantize conv.onnx --plan plan.json -o b.onnx
