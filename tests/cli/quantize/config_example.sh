# The example of a configuration is taken as it is.
qdq quantize "$FIXTURES/conv.onnxtxt" -e "sim:$FIXTURES/sim.json" --config "$FIXTURES/../../../examples/quantize.yaml" -o q.onnx -q | sed '/^$/,$d'
qdq inspect q.onnx | grep Q/DQ
