# what is tuned is in the precision that ships, and biases are corrected once it is known what ships
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
qdq quantize conv.onnx -e sim:sim.json --calib nine.npy -q --autotune=quick --rest fp16 \
    --direct-io -o half.onnx >/dev/null
qdq inspect half.onnx.tune/baseline.onnx | grep -e inputs -e Q/DQ
qdq inspect half.onnx | grep inputs
qdq quantize conv.onnx -e sim:sim.json --calib nine.npy -q --autotune=quick --bias-correction \
    -o corrected.onnx --plan-out p.json >/dev/null
grep -c '"corrections": \[' p.json
cmp corrected.onnx corrected.onnx.tune/model.onnx && echo "the tuned model"
