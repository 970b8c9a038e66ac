# needs: ort
# legs of many runs take their time
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
seconds() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -q --preset quick --trials 1 "$@" >/dev/null && sed -n 's/.*"seconds": \([0-9.]*\).*/\1/p' tuned/report.json
}
few=$(seconds --timing-runs 1)
many=$(seconds --timing-runs 10000)
awk -v few="$few" -v many="$many" 'BEGIN { print ((few > 0 && many > 1.5 * few) ? "longer" : few " and " many) }'
