# --check runs both models on another machine.
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq optimize "$FIXTURES/linear.onnxtxt" -o out.onnx --engine "sim:$FIXTURES/sim.json" \
    --check random:1 --host "$host" --host-timeout 1m | sed -n '/^against/,$p'
qdq optimize "$FIXTURES/linear.onnxtxt" -o other.onnx --host "$host"
echo "exit $?"
