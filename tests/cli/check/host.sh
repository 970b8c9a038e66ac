# The engine of another machine computes what the model says.
cp "$FIXTURES/conv.onnxtxt" .
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq check conv.onnxtxt --engine "sim:$FIXTURES/sim.json" --target ort-cpu >here
qdq check conv.onnxtxt --engine "sim:$FIXTURES/sim.json" --target ort-cpu --host "$host" \
    --host-timeout 1m >there
cmp here there && tail -n 1 there
qdq check conv.onnxtxt --host "$host"
echo "exit $?"
