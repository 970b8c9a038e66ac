# needs: ort
# A cache that begins empty and grows at each step, and an attention mask as long as it.
cp "$FIXTURES/decoder.onnxtxt" "$FIXTURES/tokens.npy" .
sed 's/root = {0.5}/root = {0.45}/' decoder.onnxtxt >other.onnxtxt
compare() {
    qdq compare decoder.onnxtxt other.onnxtxt --state present_key=past_key \
        --state present_value=past_value "$@" || echo "exit $?"
}
compare --mask attention_mask --data tokens.npy
echo "all steps at once: the same keys"
compare --mask attention_mask --data random:1 --shape input_ids=1x4 --steps 1 -n 2 | grep present
compare --data tokens.npy
compare --mask mask --data tokens.npy
compare --mask past_key --data tokens.npy
qdq compare decoder.onnxtxt other.onnxtxt --mask attention_mask --data random:1 || echo "exit $?"
