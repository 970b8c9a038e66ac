# The line at the end works as it stands: names with blanks are quoted, and shapes, sequences and
# pictures are those of this run.
# needs: ort
qdq copy "$FIXTURES/conv.onnxtxt" -o 'my conv.onnx'
cp "$FIXTURES/sim.json" .
next() {
    qdq quantize "$@" -f -o "it's.onnx" 2>/dev/null | tail -n 1
}
next 'my conv.onnx' -e sim:sim.json --calib random:1
next 'my conv.onnx' -e sim:sim.json --calib random:1 --shape image=3x2x6x6
cat >open.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
open (float[N,T] x) => (float[N,2] y) <float[5,2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}> { y = MatMul(x, w) }
END
printf '{"descr": "<f4", "fortran_order": False, "shape": (2, 5), }' >header
{ printf '\223NUMPY\001\000v\000%-117s\n' "$(tr '"' "'" <header)"; head -c 40 /dev/zero; } >x.npy
next open.onnxtxt -e sim:sim.json --calib x.npy --min-sqnr 0 --set 'stay_float=[]'
eval "printf '[%s]' $(next 'my conv.onnx' -e sim:sim.json --calib random:1)"
echo
# What fits badly is compared on the pixels that this run had.
cp -rL "$MODELS/real/photos" "$MODELS/digits/digits_cnn.onnx" .
next digits_cnn.onnx --calib photos --mean 12.5 --std 255 --layout nchw --channel-order gray \
    --image-size 16 --format int4 -t 1
