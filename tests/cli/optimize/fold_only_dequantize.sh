# Whatever is said, quantization is not computed away.
for op in QuantizeLinear DequantizeLinear DynamicQuantizeLinear; do
    qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --fold-only "Add,$op" 2>&1
    echo $?
done
