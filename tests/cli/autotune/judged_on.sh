# needs: ort
# candidates are judged on what is held back, or on --eval, and not on what calibrated
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
sqnr() { # of the first candidate, which misses such a goal
    rm -rf tuned
    qdq autotune conv.onnx -o tuned --preset quick --trials 1 -v --min-sqnr 200 \
        --calib "$FIXTURES/nine.npy" "$@" 2>&1 >/dev/null |
        sed -n 's/.*trial 1.*: SQNR \([0-9.]*\) dB, expected at least 200 dB/\1/p'
}
held_back=$(sqnr --samples 4)
other=$(sqnr --samples 4 --eval random:3)
same=$(sqnr --samples 4 --eval random:3)
[ -n "$held_back" ] && [ "$held_back" != "$other" ] && [ "$other" = "$same" ] &&
    echo "as it should be"
