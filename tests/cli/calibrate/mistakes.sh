# Every mistake has its sentence, and leaves no file.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
c() {
    qdq calibrate "$@"
    echo "$?"
}
d="conv.onnx -e sim:sim.json --calib nine.npy -o out.json"
for part in 0/3 4/3 x 1 1/ /2 1/2/3 10/99 -1/2 1/18446744073709551617 " 1/2"; do
    c $d "--part=$part"
done
c conv.onnx -e sim:sim.json -o out.json
c conv.onnx --calib nine.npy
c conv.onnx more.json -e sim:sim.json --calib nine.npy -o out.json
c conv.onnx -e sim:sim.json --calib random:1 -o out.json
c $d --method entropy-compat
c $d --json -o -
c $d -o nine.npy -f
c $d --no-optimize --passes quantize
c conv.onnx --merge -o out.json
c conv.onnx --merge a.json --calib nine.npy -o out.json
c conv.onnx --merge a.json --method mse -o out.json
c conv.onnx --merge a.json --rest fp16 -o out.json
c conv.onnx --merge missing.json -o out.json
qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy --part 1/2 --method max -q -o a.json \
    >/dev/null
qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy --part 2/2 --method mse -q -o mse.json \
    >/dev/null
c conv.onnx --merge a.json a.json -o out.json
c conv.onnx --merge a.json mse.json -o out.json
c linear.onnx --merge a.json -o out.json
c conv.onnx --merge a.json -f -o a.json
sed 's/"samples": 5/"samples": 6/' a.json >bad.json
c conv.onnx --merge bad.json -o out.json
sed 's/"qdq_statistics": 1/"qdq_statistics": 9/' a.json >bad.json
c conv.onnx --merge bad.json -o out.json
ls out.json 2>/dev/null
q() {
    qdq quantize "$@" -e sim:sim.json --no-sqnr --method max -o q.onnx
    echo "$?"
}
q conv.onnx --cache mse.json
q linear.onnx --cache a.json
q conv.onnx --cache a.json --bias-correction=on
q conv.onnx --cache a.json --float-channels=on
q conv.onnx --cache a.json --smooth=on
q conv.onnx --cache a.json --set activation.type=int8 2>err
sed 's/[0-9a-f]\{64\}/HASH/g' err >&2
q conv.onnx --cache a.json --no-optimize >/dev/null # which cleans this model to the same
qdq autotune conv.onnx -e sim:sim.json --cache a.json -o tuned
echo "$?"
