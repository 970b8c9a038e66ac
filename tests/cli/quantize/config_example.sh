# as with VNNI
# The example of a configuration is taken as it is, without a warning but that of random data; and
# with the names that it has for a model of one's own.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/sim.json" .
example=$FIXTURES/../../../examples/quantize.yaml
qdq quantize conv.onnxtxt -e sim:sim.json --config "$example" -o q.onnx | sed '/^$/,$d'
qdq inspect q.onnx | grep Q/DQ
sed 's/^#\(exclude\|  - \)/\1/' "$example" >named.yaml
qdq quantize conv.onnxtxt -e sim:sim.json --config named.yaml -o n.onnx | sed '/^$/,$d'
