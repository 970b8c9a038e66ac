# as with VNNI
# Options from a file by their long names; what the command line says wins; files are read by every
# command.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cat >c.yaml <<END
engine: sim:sim.json
calib: random:3
quiet: 2
sqnr: false
no-such: 1
END
qdq quantize conv.onnx -o q.onnx --config c.yaml
sed -i /no-such/d c.yaml
eight_bits() {
    echo "$*: $(qdq quantize conv.onnx -f -o q.onnx --json --config c.yaml "$@" | sed -n '/"quantized": {/,/}/p' | tr -d ' \n')"
}
eight_bits
echo "exclude: [gemm, '=no,such']" >>c.yaml
eight_bits
eight_bits --exclude conv
echo "op-types: [Conv, Gemm]" >>c.yaml
eight_bits
eight_bits --op-types Gemm,GlobalAveragePool --exclude none
printf 'set: {activation.type: int8, activation.symmetric: true}\ndry-run: true\n' >>c.yaml
qdq quantize conv.onnx --config c.yaml --json | grep "\"image\""
qdq quantize conv.onnx --config c.yaml --no-dry-run -f -o q.onnx | head -1
echo 'json: true' >d.yaml
qdq inspect conv.onnx --config d.yaml | head -1
: >empty.yaml
qdq inspect conv.onnx --config empty.yaml | head -1
echo 'shape: {image: 3x2x6x6}' >>c.yaml
sed -i 's/dry-run: true/dry-run: false/' c.yaml
qdq quantize conv.onnx --config c.yaml -f -o q.onnx --json | grep -A7 run_as
