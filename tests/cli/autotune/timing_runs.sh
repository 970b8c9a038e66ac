# needs: ort
# legs of many runs take their time
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
per_pair() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -q --preset quick --trials 1 --timing-runs "$1" >/dev/null &&
        awk -F'[:,]' '/"seconds"/ { s = $2 } /"timings"/ { n = $2 } END { print s / n }' tuned/report.json
}
few=$(per_pair 1)
many=$(per_pair 5000)
awk -v few="$few" -v many="$many" 'BEGIN { print ((few > 0 && many > 3 * few) ? "longer" : few " and " many) }'
