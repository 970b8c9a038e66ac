# needs: ort
# With the same number of threads, quantizing once more gives the same bytes. With another number,
# ONNX Runtime adds in another order: what is quantized stays the same, scales differ in their last
# digits at most.
numbers() {
    grep -oE '"scale": [^,]*, "zero_point": -?[0-9]+' "$1" | tr -d , | awk '{print $2, $4}'
}
for m in digits_cnn digits_cnn_bn digits_convnext digits_vit digits_qat_bn; do
    for run in 1 1.again 2 2.again; do
        qdq quantize "$MODELS/digits/$m.onnx" --calib "$MODELS/digits/digits_calib.npz" -n 16 \
            --weight-method mse \
            --no-sqnr -t "${run%.again}" -q -f -o $run.onnx --plan-out $run.json >/dev/null
    done
    cmp 1.onnx 1.again.onnx && cmp 2.onnx 2.again.onnx &&
        cmp <(sed 's/"scale": [^}]*"rule"/"rule"/' 1.json) <(sed 's/"scale": [^}]*"rule"/"rule"/' \
            2.json) &&
        paste <(numbers 1.json) <(numbers 2.json) | awk -v m=$m '
            { off = ($1 - $3) / $1; zero = $2 - $4 }
            off * off > 1e-8 || zero * zero > 1 || NF != 4 { print m ": line " NR ": " $0; bad = 1 }
            END { if (!bad) print m ": " NR " scales" }'
done
