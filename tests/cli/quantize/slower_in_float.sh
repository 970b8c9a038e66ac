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
echo "as it was"
q --calib random:1 --no-optimize | grep ^speed | sed "s|;.*||"
