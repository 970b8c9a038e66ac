# needs: ort
# Calibrated and evaluated with the keys and values of the steps before.
cp "$FIXTURES/decoder.onnxtxt" "$FIXTURES/tokens.npy" .
qdq quantize decoder.onnxtxt -o q.onnx --calib tokens.npy --state present_key=past_key \
    --state present_value=past_value --mask attention_mask --target openvino --cpu avx512 \
    --min-sqnr 0 |
    grep -E "sample|^quantized|MatMul"
qdq compare decoder.onnxtxt q.onnx --data tokens.npy --state present_key=past_key \
    --state present_value=past_value --mask attention_mask --per-tensor |
    grep -E "samples|MatMul" | sed -E 's/([0-9]+)\.[0-9]+/\1/g' # the last digits are the processor's
