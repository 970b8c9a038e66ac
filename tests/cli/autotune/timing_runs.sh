# needs: ort
# legs of many runs take their time: that of the processor, which does not grow where others are at
# work, too
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
TIMEFORMAT='%U %S'
per_pair() {
    rm -rf tuned
    { time qdq autotune conv.onnx -o tuned -q --preset quick --trials 1 --timing-runs "$1" \
        >/dev/null; } 2>time.txt &&
        awk -F'[:,]' \
            'NR == FNR { split($0, t, " "); s = t[1] + t[2] } /"timings"/ { n = $2 } END { print s / n }' \
            time.txt tuned/report.json
}
few=$(per_pair 1)
many=$(per_pair 5000)
awk -v few="$few" -v many="$many" \
    'BEGIN { print ((few > 0 && many > 3 * few) ? "longer" : few " and " many) }'
