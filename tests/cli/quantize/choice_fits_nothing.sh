# as with VNNI
# A slip of the pen in a choice is told: the result looks the same without it.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json --no-sqnr -o a.onnx --calib random:1 --exclude "^konv" \
    --exclude "^conv" | grep excluded
qdq quantize conv.onnx -e sim:sim.json --no-sqnr -o b.onnx --calib random:1 --op-types Gem,Conv |
    grep -c "not asked for"
qdq quantize conv.onnx -e sim:sim.json --no-sqnr -o c.onnx --calib random:1 --exclude "Conv1" \
    --exclude-op-types gemm >/dev/null
# and told once, where placement goes over the graph twice
qdq targets ort-cpu | sed 's/"bias": { "type": "int32" },/&\n"overrides": [{"op": "Gemm", "activation": {"type": "float"}, "weight": {"type": "int4", "block": 32}}],/' >mixed.json
qdq quantize conv.onnx -T mixed.json -e sim:sim.json --no-sqnr -o d.onnx --calib random:1 \
    --exclude nowhere --exclude-op-types gemm --json | grep -A6 '"quantized"'
