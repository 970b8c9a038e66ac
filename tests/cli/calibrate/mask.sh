# needs: ort
# A mask that grows with the cache: the statistics are those that quantize takes from the sequences.
cp "$FIXTURES/decoder.onnxtxt" "$FIXTURES/tokens.npy" .
caches="--state present_key=past_key --state present_value=past_value --mask attention_mask"
qdq calibrate decoder.onnxtxt --calib tokens.npy $caches -o all.json -t 1 -q >/dev/null
qdq quantize decoder.onnxtxt --cache all.json --no-sqnr -t 1 -q -o cached.onnx >/dev/null
qdq quantize decoder.onnxtxt --calib tokens.npy $caches --no-sqnr -t 1 -q -o once.onnx >/dev/null
cmp cached.onnx once.onnx && echo "the same bytes"
