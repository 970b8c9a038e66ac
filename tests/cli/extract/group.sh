# One group of an engine as a model: alone, with its neighbours, by a file; as JSON.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq extract conv.onnx --group 0 --engine "sim:$FIXTURES/sim.json" -o alone.onnxtxt --json
grep -v ir_version alone.onnxtxt
qdq extract conv.onnx --group 2 --halo --engine "sim:$FIXTURES/sim.json" -o halo.onnxtxt
grep -v ir_version halo.onnxtxt
qdq inspect conv.onnx --groups --engine "sim:$FIXTURES/sim.json" --json >layers.json
qdq extract conv.onnx --group 0 --layer-info layers.json -o same.onnxtxt
cmp alone.onnxtxt same.onnxtxt && echo the same
# The range of a dynamic model's shapes; options of engines that this one has no use for.
qdq extract conv.onnx --group 1 --engine "sim:$FIXTURES/sim.json" -o pool.onnxtxt \
    --min-shape image=1x2x6x6 \
    --opt-shape image=2x2x6x6 --max-shape image=4x2x6x6 --ort-library none --openvino-library none \
    --trtexec none \
    --trtexec-args ' ' --timing-cache cache --threads 1
grep -v ir_version pool.onnxtxt
