# Outputs and inner values come from another machine.
# needs: ort
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq quantize conv.onnx --data random:4 -o q.onnx -q
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
for engine in "sim:$FIXTURES/sim.json" ort; do
    qdq compare conv.onnx q.onnx --data random:4 --per-tensor --engine "$engine" >here
    qdq compare conv.onnx q.onnx --data random:4 --per-tensor --engine "$engine" --host "$host" \
        --host-timeout 1m >there
    cmp here there && echo "the same on ${engine%%:*}"
done
