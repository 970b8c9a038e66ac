# needs: ort
# Data whose channel 7 is 100 times as large as the others: with it in float the plan says so, and
# replays it; stripped, the model is float again; options that have no use for it refuse it.
awk 'BEGIN {
    printf "<ir_version: 10, opset_import: [\"\" : 21]>\nwide (float[4,64] x) => (float[4,64] y)\n<float[64,64] w = {"
    for (i = 0; i < 4096; i++) printf "%s%.2f", i ? ", " : "", (i * 37 % 101 - 50) / 100
    print "}>\n{\n  n = Neg(x)\n  [p] y = MatMul(n, w)\n}"
    for (i = 0; i < 256; i++) printf "%.2f\n", (i % 64 == 7 ? 100 : 1) * (i * 29 % 67 - 33) / 33 >"x.txt"
}' >wide.onnxtxt
perl -e 'printf "\x93NUMPY\1\0\x76\0%-117s\n", "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (4, 64), }";
    print pack "f<", $_ while <>' x.txt >x.npy
q() { qdq quantize wide.onnxtxt --calib x.npy --set 'stay_float=[]' -q "$@"; }
q --min-sqnr 0 -o a.onnx --plan-out a.json --float-channels >/dev/null
grep '"channels"' a.json
qdq quantize wide.onnxtxt --plan a.json -q -o b.onnx >/dev/null && cmp a.onnx b.onnx
q --min-sqnr 0 -o c.onnx --plan-out c.json --float-channels=off >/dev/null
grep -c '"channels"' c.json
qdq strip a.onnx -q -o s.onnx && qdq copy s.onnx -o s.onnxtxt && grep -c Linear s.onnxtxt
echo "for a goal"
q --min-sqnr 30 -o g.onnx --plan-out g.json 2>&1 >/dev/null
grep -c '"channels"' g.json
q --min-sqnr 30 --json -o j.onnx | grep '"float_channels":'
echo "mistakes"
qdq quantize wide.onnxtxt --calib random:1 -o d.onnx --float-channels 2>&1 >/dev/null | grep stand
qdq quantize wide.onnxtxt --calib x.npy -o f.onnx --float-channels --weight-method gptq \
    2>&1 >/dev/null | grep stands
qdq quantize wide.onnxtxt --plan a.json --float-channels -o e.onnx
qdq quantize wide.onnxtxt --calib x.npy --autotune --float-channels -o e.onnx
