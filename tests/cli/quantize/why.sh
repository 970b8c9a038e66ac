# as with VNNI
# The rules' verdicts and what the plan has, scale and range included; a dry run writes nothing.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json --no-sqnr -o q.onnx --why image | sed -n '/^why/,/^$/p'
qdq quantize conv.onnx -e sim:sim.json --dry-run --why gemm --exclude gemm
qdq quantize conv.onnx -e sim:sim.json --dry-run --why gemm --op-types Gemm --json | head -12
qdq quantize conv.onnx -e sim:sim.json -f --no-sqnr -o q.onnx --why conv1 --json |
    grep -c verdict
qdq quantize conv.onnx -e sim:sim.json --dry-run --why gema
echo "unknown: $?"
qdq quantize conv.onnx --plan p -o r.onnx --why a
echo "with a plan: $?"
ls
