# With --json a failure is a document, unless the result was printed before it.
qdq copy missing.onnx -o x.onnx --json 2>/dev/null
qdq copy --nope --json 2>/dev/null | grep exit_code
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json --calib random:2 --min-sqnr 300 \
    --best-effort --json 2>/dev/null | grep -c '"error": {'
qdq copy missing.onnx -o x.onnx
