# A label that is no class is found before anything runs: this engine refuses every model.
cat >classes.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,2,6,6] image) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}>
{
  mean = GlobalAveragePool(image)
  flat = Flatten(mean)
  y = MatMul(flat, w)
}
END
echo '{"qdq_sim": 1, "fail": [{"at": "open", "message": "no model is taken"}]}' >refuses.json
for command in "quantize classes.onnxtxt -o q.onnx" "autotune classes.onnxtxt -o tuned --min-sqnr 20" \
    "compare classes.onnxtxt classes.onnxtxt"; do
    data=--calib
    [ "${command#compare}" = "$command" ] || data=--data
    # shellcheck disable=SC2086 # several words
    qdq $command -e sim:refuses.json $data "$FIXTURES/labelled.npz" --labels label
    echo "exit $?"
done
ls
