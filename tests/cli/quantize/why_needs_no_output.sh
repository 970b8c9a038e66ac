# --why alone answers and writes nothing; so does --dry-run, with a summary, and with
# --json the plan.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json --calib random:2 --why gemm
qdq quantize conv.onnx -e sim:sim.json --calib random:2 --dry-run
qdq quantize conv.onnx -e sim:sim.json --calib random:2 --dry-run --json | head -2
ls
