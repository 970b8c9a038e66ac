# The example of a configuration is taken as it is.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/sim.json" .
qdq quantize conv.onnxtxt -e sim:sim.json --config "$FIXTURES/../../../examples/quantize.yaml" \
    -o q.onnx -q | sed '/^$/,$d'
qdq inspect q.onnx | grep Q/DQ
