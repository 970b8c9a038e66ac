# calibration and judging, as quantize has them
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy,labelled.npz} .
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?: $(value tuned verdict), placement only: $(value tuned placement_only)"
}
tune --calib nine.npy
tune --calib nine.npy --samples 4 --method percentile --percentile 99
tune --calib random:3 --samples 4 --memory 1MiB --equalize --bias-correction
tune --calib nine.npy --cache-out ranges.json --calib-threads 1
ls ranges.json
tune --calib nine.npy --cache ranges.json
tune --calib nine.npy --no-sqnr
tune --calib nine.npy --min-sqnr 20
tune --calib nine.npy --min-sqnr 200
tune --calib nine.npy --eval random:5 --min-sqnr 20
tune --calib labelled.npz --labels label --max-drop 100%
tune --shape image=2x2x6x6 --calib random:1
# the float model knows all classes of these, what is fastest does not
sed 's/"error": 0.001/"error": 20/' sim.json >coarse.json
cp "$FIXTURES/classes.npy" .
for most in 0% 60%; do
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -e sim:coarse.json --calib nine.npy --eval labelled.npz \
        --labels classes.npy \
        --max-drop $most >/dev/null 2>log.txt
    echo "--max-drop $most -> $?: $(value tuned verdict)"
    sed -n 's/.*\(found\|rejected; accuracy\) [0-9.]*, [0-9.]*/\1 N, M/p' log.txt
done
