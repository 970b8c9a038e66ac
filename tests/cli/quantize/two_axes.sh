# as with VNNI
# needs: ort
# A weight that a MatMul reads as [K, N] and a Gemm with transB as [N, K] has codes for each, with
# the scales of its own axis: rows of very different size lose nothing where they are channels. With
# one scale, both read the same codes.
cat >two.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
two (float[3,4] x) => (float[3,4] y, float[3,4] z)
<float[4,4] w = {0.125, -0.25, 0.5, -0.375, 1.5, 0.75, -1, 1.25, 0.01, 0.02, 0.03, 0.04, 10, -8, 5, 2}, float[4] c = {1, 2, 3, 4}> {
  y = MatMul(x, w)
  z = Gemm <transB = 1> (x, w, c)
}
M
check() {
    echo "== $*"
    qdq quantize two.onnxtxt -i . -q -q -f -o q.onnx --plan-out p.json "$@" >/dev/null ||
        echo "exit $?"
    grep -oE '"tensor": "(w|c)".*"block": [^,]*|"tensor": "(w|c)".*"weight": "w"' p.json
    qdq copy q.onnx -f -o q.onnxtxt && grep -oE \
        'u?int[48]\[[^}]*\} ?|[a-zA-Z_]* = DequantizeLinear[^)]*\)' q.onnxtxt
    qdq quantize two.onnxtxt --plan p.json -q -f -o again.onnx >/dev/null && cmp q.onnx again.onnx
    qdq import q.onnx -f -o i.json >/dev/null &&
        cmp <(grep -o '"tensor": "w".*"type": [^,]*' p.json) <(grep \
        -o '"tensor": "w".*"type": [^,]*' i.json)
    qdq strip q.onnx -f -o s.onnx >/dev/null && qdq inspect s.onnx | grep Q/DQ
    qdq compare two.onnxtxt q.onnx --data random:2 --json | grep -oE '"sqnr_db": [0-9]+' |
        awk '$2 < 20 { print "too far away: " $0 } END { print NR " outputs compared" }'
}
check
check --weights float --weight-method mse
check --per-tensor
check -T int4 --block-size 2 --weight-method absmax
check -T int4 --weight-method awq-full
check -T ort-cpu-int4
