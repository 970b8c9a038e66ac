# A calibration cache written and read again gives the same plan; one in TensorRT's form too, for
# int8 symmetric.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
q() {
    qdq quantize conv.onnx -e sim:sim.json -q -f -o q.onnx "$@" >/dev/null
    echo "$?"
}
q --calib random:3 --plan-out a.json --cache-out ranges.json
q --calib random:9 --plan-out b.json --cache ranges.json
cmp <(grep scale a.json) <(grep scale b.json) && cat ranges.json
s="--set activation.type=int8 --set activation.symmetric=true"
q --calib random:3 --plan-out a.json --cache-out t.cache $s
q --calib random:9 --plan-out b.json --cache t.cache $s
cmp <(grep scale a.json) <(grep scale b.json) && cat t.cache
echo "a tensor that the cache lacks is calibrated, a name that the model lacks is named"
sed 3d t.cache >less.cache
echo "other: 3f800000" >>less.cache
qdq quantize conv.onnx -e sim:sim.json --dry-run --json --calib random:3 --cache less.cache $s >c.json
cmp <(grep scale a.json) <(grep scale c.json) && grep placement_only c.json
echo "mistakes"
for line in "t 3d4ccccd" "t: 3d4cccczd" "t: 7fc00000" "t: bf800000" "t: 7f7fffff" ": 3d4ccccd" \
    "t: "; do
    printf 'TRT-8601-EntropyCalibration2\nx: 3d4ccccd\n%s\n' "$line" >bad.cache
    qdq quantize conv.onnx -e sim:sim.json --dry-run --cache bad.cache
done
echo "a tensor twice: the same range is no mistake, another one is"
printf 'TRT-8601-EntropyCalibration2\nx: 3d4ccccd\nt: 3f800000\nx: 3d4ccccd\n' >bad.cache
qdq quantize conv.onnx -e sim:sim.json --dry-run -q --calib random:3 --cache bad.cache $s \
    >/dev/null && echo taken
echo "x: 3d4ccccc" >>bad.cache
qdq quantize conv.onnx -e sim:sim.json --dry-run --cache bad.cache
echo '{"qdq_ranges": 1, "tensors": [{"tensor": "x", "low": 0, "high": 1}, {"tensor": "x", "low": -1, "high": 1}]}' >bad.json
qdq quantize conv.onnx -e sim:sim.json --dry-run --cache bad.json
echo '{"qdq_ranges": 1, "tensors": [{"tensor": "x", "low": 2, "high": 1}]}' >bad.json
qdq quantize conv.onnx -e sim:sim.json --dry-run --cache bad.json
echo '{"qdq_ranges": 1, "tensors": [{"tensor": "", "low": 0, "high": 1}]}' >bad.json
qdq quantize conv.onnx -e sim:sim.json --dry-run --cache bad.json
echo 'x: 3d4ccccd' >bad.cache
qdq quantize conv.onnx -e sim:sim.json --dry-run --cache bad.cache
qdq quantize conv.onnx -e sim:sim.json --dry-run --cache missing.cache
qdq quantize conv.onnx --plan p.json -o q.onnx --cache t.cache
qdq quantize conv.onnx -e sim:sim.json -o q2.onnx --cache-out q2.onnx
