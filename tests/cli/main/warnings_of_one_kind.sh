# 20 warnings that differ in names alone are one line, three are three; -v shows all.
model() { # model N: N operators that strip leaves
    local i
    printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[8] x) => (%s)\n{\n' \
        "$(for ((i = 0; i < $1; i++)); do printf '%suint8[8] q%d' "$([ $i = 0 ] || echo ', ')" $i; done)"
    for ((i = 0; i < $1; i++)); do
        printf '  [quantizer_%d] q%d, s%d, z%d = DynamicQuantizeLinear(x)\n' $i $i $i $i
    done
    printf '}\n'
}
for n in 3 4 20; do
    model $n >m$n.onnxtxt
    qdq strip m$n.onnxtxt -o out$n.onnx
    echo "-> $?" >&2
done
qdq strip m20.onnxtxt -o verbose.onnx -v 2>&1 | grep -c 'warning: .* stays'
