# Quantizing the result once more, in the same way, changes no byte of it: constants as nodes and as
# operands, arithmetic that a newer opset has an operator for, bodies, outputs that are declared
# with dims of another name.
qdq copy "$FIXTURES/twice.onnxtxt" -o twice.onnx
cp "$FIXTURES/sim.json" .
check() {
    qdq quantize twice.onnx -e sim:sim.json -q -q --no-sqnr -f -o a.onnx "$@" >/dev/null ||
        echo "$*: exit $?"
    qdq quantize a.onnx -e sim:sim.json -q -q --no-sqnr -f -o b.onnx "$@" >/dev/null ||
        echo "$*: again, exit $?"
    cmp a.onnx b.onnx && echo "$*: $(qdq inspect a.onnx | grep Q/DQ)"
}
for target in ort-cpu tensorrt; do
    check -T $target -i .
    check -T $target -i . --bias float
    check -T $target -i . --weights float
    check -T $target -i . --activation-type uint16
    check -T $target -i . --activation-type int16 --weight-type int16
    check -T $target -i . --weight-type int4
    check -T $target --block-size 4
done
check -T tensorrt --activation-type uint8 --weight-type uint8
check -T tensorrt-fp8
check -T int4 --block-size 4
check -T ort-cpu-int4
