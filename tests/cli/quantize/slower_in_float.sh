# Where nothing was quantized, the file is what optimizations made: if that is slower than the input
# it is said, too. This engine has no good kernel for HardSwish.
# measures
cat >hard.onnxtxt <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
hard (float[1,8] x) => (float[1,8] y)
{ h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul(x, h) }
EOF
echo '{"qdq_sim": 1, "default": {"float_us": 10}, "ops": {"HardSwish": {"float_us": 100}}}' >sim.json
q() { qdq quantize hard.onnxtxt -o hard.onnx -f --engine sim:sim.json --set engine=sim "$@"; }
q --calib random:1 | grep ^speed | sed "s|;.*||"
echo "a target that autotune refuses: no advice to use it"
awk 'BEGIN { printf "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    printf "m (float[4,64] x) => (float[4,16] y)\n<float[64,16] w = {"
    for (i = 0; i < 1024; i++) printf "%s%.2f", i ? ", " : "", (i * 37 % 101 - 50) / 100
    print "}>\n{ y = MatMul(x, w) }" }' >m.onnxtxt
qdq quantize m.onnxtxt -o m.onnx --engine sim:sim.json --set engine=sim --calib random:1 \
    -T ort-cpu --format dynamic --set 'stay_float=[]' | grep ^speed | sed "s|;.*||"
echo "as it was"
q --calib random:1 --no-optimize | grep ^speed | sed "s|;.*||"
