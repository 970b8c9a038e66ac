# --shape of one input fixes the batch of all of them, and of samples.
# needs: ort
. "$FIXTURES/transformer.bash"
make tiny bert "5" "5"
qdq quantize m.onnx -o q.onnx --calib calib --no-sqnr -q >/dev/null
qdq compare m.onnx q.onnx -d test/0005.npz --shape input_ids=2x5 | head -3
