# Layers as another machine executes them.
# needs: ort
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq inspect conv.onnx --groups --engine "sim:$FIXTURES/sim.json" >here
qdq inspect conv.onnx --groups --engine "sim:$FIXTURES/sim.json" --host "$host" >there
cmp here there && head -n 1 there
qdq inspect conv.onnx --groups --host "$host" --host-timeout 1m --json >there.json && grep -c '"engine": "ort"' there.json
qdq inspect conv.onnx --host "$host"; echo "exit $?"
