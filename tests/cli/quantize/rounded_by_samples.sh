# needs: ort
# Weights that samples round are evaluated on samples that did not round them: 28.8 dB were told of
# 40 samples, and others had 23.5.
awk 'BEGIN {
    printf "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    printf "m (float[N,64] x) => (float[N,16] y)\n<float[64,16] w = {"
    for (i = 0; i < 1024; i++) printf "%s%.2f", i ? ", " : "", (i * 37 % 101 - 50) / 100
    print "}>\n{\n  [p] y = MatMul(x, w)\n}"
    for (i = 0; i < 4096; i++) printf "%.2f\n", (i * 29 % 67 - 33) / 33 + (i * i * 7 % 61 - 30) / 40 >"x.txt"
}' >m.onnxtxt
samples() { # of the first N rows
    perl -e 'printf "\x93NUMPY\1\0\x76\0%-117s\n", "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: ($ARGV[0], 64), }";
        open F, "x.txt"; $i = 0; while (<F>) { last if $i++ >= $ARGV[0] * 64; print pack "f<", $_ }' "$1" >x.npy
}
for n in 1 2 9 40 64; do
    samples $n
    for method in absmax gptq awq-full; do
        printf '%s samples, %s: ' $n $method
        qdq quantize m.onnxtxt --calib x.npy -T int4 --weight-method $method --min-sqnr -40 \
            -o q.onnx -f -q --json 2>/dev/null |
            grep -E '"((calibration|sqnr)": [0-9]+|(cross_validated|held_back)": [a-z]+),?$' |
            tr -d '\n '
        echo
    done
done
echo "- few of them say little: told with what helps"
for n in 2 7 9; do
    samples $n
    for method in absmax gptq; do
        qdq quantize m.onnxtxt --calib x.npy -T int4 --weight-method $method --min-sqnr -40 \
            -o q.onnx -f 2>/dev/null | grep 'the bound rests'
    done
done
samples 9
mv x.npy calib.npy
samples 3
qdq quantize m.onnxtxt --calib calib.npy --eval x.npy -T int4 --weight-method gptq --min-sqnr -40 \
    -o q.onnx -f 2>/dev/null | grep 'the bound rests'
echo "- of autotune, by the same rule"
samples 9
echo '{"qdq_sim": 1, "default": {"float_us": 50, "int8_us": 20}}' >sim.json
for method in absmax gptq; do
    qdq autotune m.onnxtxt --calib x.npy --engine sim:sim.json --set engine=sim \
        --weight-method $method --min-sqnr 1 -o $method -q >/dev/null 2>&1
    grep -o '"judged_on": [0-9]*' $method/report.json
done
