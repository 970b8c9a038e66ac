# needs: ort
# A normalization with two gains that are 20 times as large as the others: its data is smoothed, the
# plan says so and replays it, and the file has no operator more; options that have no use for it
# refuse it.
awk 'BEGIN {
    printf "<ir_version: 10, opset_import: [\"\" : 21]>\nnorm (float[1,4,64] x) => (float[1,4,48] y)\n<float[64,48] w = {"
    for (i = 0; i < 3072; i++) printf "%s%.2f", i ? ", " : "", (i * 37 % 101 - 50) / 100
    printf "}, float[64] g = {"
    for (i = 0; i < 64; i++) printf "%s%d", i ? ", " : "", i % 32 == 5 ? 20 : 1
    print "}>\n{\n  n = LayerNormalization(x, g)\n  [p] y = MatMul(n, w)\n}"
    for (i = 0; i < 8192; i++) printf "%.2f\n", (i * 29 % 67 - 33) / 33 + (i * i * 7 % 61 - 30) / 40 >"x.txt"
}' >norm.onnxtxt
perl -e 'printf "\x93NUMPY\1\0\x76\0%-117s\n", "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (32, 4, 64), }";
    print pack "f<", $_ while <>' x.txt >x.npy
q() { qdq quantize norm.onnxtxt --calib x.npy --set 'stay_float=[]' --float-channels=off -q "$@"; }
operators() { qdq copy "$1" -o t.onnxtxt -f -q && grep -c ' = ' t.onnxtxt; }
q --min-sqnr 0 -o a.onnx --plan-out a.json --smooth >/dev/null
grep -c '"smoothings"' a.json
qdq quantize norm.onnxtxt --plan a.json -q -o b.onnx >/dev/null && cmp a.onnx b.onnx
q --min-sqnr 0 -o c.onnx --plan-out c.json --smooth=off >/dev/null
grep -c '"smoothings"' c.json
[ "$(operators a.onnx)" = "$(operators c.onnx)" ] && echo "no operator more"
qdq strip a.onnx -q -o s.onnx && qdq copy s.onnx -o s.onnxtxt && grep -c Linear s.onnxtxt
qdq quantize norm.onnxtxt --calib x.npy --set 'stay_float=[]' --smooth --why p --min-sqnr 0 -o w.onnx \
    2>/dev/null | grep -c '^p  smooth  yes  strength'
# no layer is blamed for what was divided
qdq compare norm.onnxtxt a.onnx -d x.npy --per-tensor | awk '$1 == "p" && $4 > 30 { print "p has its own error alone" }'
echo "for a goal"
nearest() { q --one-format --best-effort --min-sqnr 30 "$@" 2>/dev/null; }
qdq quantize norm.onnxtxt --calib x.npy --set 'stay_float=[]' --float-channels=off --one-format \
    --best-effort --min-sqnr 30 -o g.onnx --plan-out g.json --report g.html 2>/dev/null |
    grep smoothed: | sed 's/[0-9]\+[.][0-9]*/N/g'
grep -c 'Activations are smoothed' g.html
grep -c '"smoothings"' g.json
nearest --json -o j.onnx | grep -E '"(smooth|smoothed_db|unsmoothed_db)":' | sed 's/: [0-9.]*,/: N,/'
nearest --smooth=off --json -o k.onnx | grep '"smooth":'
echo "nothing to smooth"
for more in "--format dynamic" "-T int4"; do
    qdq quantize norm.onnxtxt --calib x.npy $more --smooth --min-sqnr 0 -o n.onnx -f \
        2>&1 >/dev/null | grep smoothed
done
echo "mistakes"
qdq quantize norm.onnxtxt --calib random:1 -o d.onnx --smooth 2>&1 >/dev/null | grep smoothed
qdq quantize norm.onnxtxt --plan a.json --smooth -o e.onnx
qdq quantize norm.onnxtxt --calib x.npy --autotune --smooth -o e.onnx
q --no-sqnr -o r.onnx --cache-out r.json >/dev/null
q --cache r.json --smooth -o e.onnx
sed 's/"tensor": "n", "smoothed"/"tensor": "x", "smoothed"/' a.json >bad.json
qdq quantize norm.onnxtxt --plan bad.json -q -o e.onnx
