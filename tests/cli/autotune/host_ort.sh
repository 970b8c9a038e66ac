# needs: ort
# ONNX Runtime on another machine: times, layers and samples are its own, calibration is ours.
digits=$MODELS/digits
serve="$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq bench "$digits/digits_cnn.onnx" --rounds 6 --host "exec:$serve" | grep -c 'digits_cnn.onnx '
qdq autotune "$digits/digits_cnn.onnx" -o tuned --data "$digits/digits_calib.npz" --preset quick \
    --trials 1 --time 10s -q --host "exec:$serve"
ls tuned | grep -c -e '^model.onnx$' -e '^plan.json$' -e '^tune.db$'
qdq compare "$digits/digits_cnn.onnx" tuned/model.onnx --data "$digits/digits_test.npz" --samples 8 \
    --min-sqnr 20 -q --host "exec:$serve"
echo "exit $?"
# each file went there once, and the folders of the connections are gone
ls cache/runs | wc -l
