# Features of several lengths through two Conv of one dimension; no scores, so a goal of SQNR.
# needs: ort
. "$FIXTURES/transformer.bash"
make small whisper-encoder
qdq quantize m.onnx -o q.onnx -f --calib calib --min-sqnr 15 -t 1 -q >/dev/null
qdq compare m.onnx q.onnx -d test --min-sqnr 12 >/dev/null
echo $?
parts
