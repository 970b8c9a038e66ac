# needs: ort
# Outputs that cannot be compared are no reason to keep the model back, unless somebody asked for a
# judgement.
head='<ir_version: 8, opset_import: ["" : 17]>'
w='<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}>'
echo "$head g (float[1,4] x) => (string[1,4] y) $w { t = MatMul(x, w) y = Cast<to = 8>(t) }" \
    >string.onnxtxt
qdq quantize string.onnxtxt -o a.onnx -q -q -t 1 --calib random:1 --json >a.json
echo "written $?, json: $(grep -c sqnr_db a.json)"
qdq quantize string.onnxtxt -o b.onnx -t 1 --calib random:1 2>&1 >/dev/null | grep SQNR
qdq quantize string.onnxtxt -o c.onnx -q -t 1 --calib random:1 --eval random:2 >/dev/null
echo "asked for $?"
ls *.onnx
