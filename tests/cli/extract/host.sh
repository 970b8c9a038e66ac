# A group as another machine executes it.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq extract conv.onnx --group 0 --engine "sim:$FIXTURES/sim.json" -o here.onnx -q
qdq extract conv.onnx --group 0 --engine "sim:$FIXTURES/sim.json" -o there.onnx -q --host "$host" \
    --host-timeout 1m
cmp here.onnx there.onnx && echo same
qdq extract conv.onnx --outputs scores -o other.onnx --host "$host"
echo "exit $?"
