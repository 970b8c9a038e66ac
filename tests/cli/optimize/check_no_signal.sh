# Outputs that are zero everywhere are equal to others of that kind, and prove nothing.
# needs: ort
cat >zero.onnxtxt <<'T'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] zero) <float[1] z = {0}> { i = Identity(x) zero = Mul(i, z) }
T
sed 's/(float\[1,4\] zero)/(float[1,4] zero, float[1,4] y)/; s/zero = Mul/y = Relu(i) zero = Mul/' \
    zero.onnxtxt >both.onnxtxt
for m in zero both; do
    qdq optimize $m.onnxtxt -o $m.onnx --check random:1 | grep '^against'
    qdq optimize $m.onnxtxt -f -o $m.onnx --check random:1 --json |
        grep '"same"\|"proven"\|"no_signal"'
done
