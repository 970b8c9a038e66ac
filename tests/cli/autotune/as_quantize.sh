# as with VNNI
# each option of quantize means the same here: where nothing beats the rules' plan, that is the plan
# which quantize makes
# with the same options, byte for byte; and each option changes something
awk 'BEGIN {
    printf "<ir_version: 8, opset_import: [\"\" : 17]>\nrgb (float[N,3,8,8] image) => (float[N,4,8,8] y)\n<float[4,3,3,3] w = {"
    for (i = 0; i < 108; i++) printf "%s%.2f", i ? ", " : "", (i * 37 % 101 - 50) / 100
    printf "}, float[4] b = {0.1, 0.2, -0.3, 0.4}, float[4,4,3,3] v = {"
    for (i = 0; i < 144; i++) printf "%s%.2f", i ? ", " : "", (i * 53 % 89 - 40) / (10 + 40 * int(i / 36))
    print "}>\n{\n  same = Identity(image)\n  [c1] c = Conv <pads = [1, 1, 1, 1]> (same, w, b)\n  [r1] r = Relu(c)"
    print "  [c2] d = Conv <pads = [1, 1, 1, 1]> (r, v, b)\n  [s] y = Sigmoid(d)\n}"
}' >m.onnxtxt
qdq copy m.onnxtxt -o m.onnx
cat >sim.json <<'END' # a little faster in 8 bits, whatever the rules choose
{"qdq_sim": 1, "overhead_us": 10, "error": 0.001, "convert": {"float_us": 1}, "default": {"float_us": 2},
 "ops": {"Conv": {"float_us": 100, "int8_us": 80, "inputs": 2}, "Sigmoid": {"float_us": 50, "int8_us": 40}}}
END
mkdir photos
for ((i = 0; i < 11; i++)); do # bitmaps of 12 by 12 pixels: quickly read, dozens of times
    pixels=$(awk -v i=$i 'BEGIN {
        for (p = 0; p < 432; p++)
            printf "\\x%02x", int((p + 40) * (i + 3) / 40 + (p % 3 + 1) * (p * (37 + 2 * i) % 71) / 2)
    }')
    printf 'BM\xe6\1\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\xc\0\0\0\xc\0\0\0\1\0\x18\0%b' \
        "$(printf '\\0%.0s' {1..24})$pixels" >photos/$i.bmp
done
both() {
    rm -rf tuned
    qdq autotune m.onnx -o tuned -e sim:sim.json -q --min-gain 49% --min-sqnr 0 "$@" \
        --calib-threads 1 >/dev/null
    local code=$?
    qdq quantize m.onnx -o q.onnx -f -e sim:sim.json -q --plan-out q.json --min-sqnr 0 "$@" \
        --threads 1 >/dev/null
    echo "$* -> $code $?$(cmp tuned/plan.json q.json)$(cmp tuned/model.onnx q.onnx)$(
        [ -e plain.json ] && cmp -s q.json plain.json && echo ', as without')"
}
data=(--calib photos)
both "${data[@]}"
cp q.json plain.json
while read -r -a options; do
    both "${data[@]}" "${options[@]}"
done <<'END'
--target tensorrt
--exclude c2
--include c2
--op-types Sigmoid
--exclude-op-types Conv
--no-optimize
--format int8
--activation-type int8
--weight-type uint8
--symmetric
--asymmetric --activation-type int8
--weight-asymmetric
--per-tensor
--reduce-range
--pow2
--weight-method mse
--weights float
--bias float
--rest fp16
--rest fp16 --rest-keep Sigmoid
--rest fp16 --direct-io
--set activation.type=int8
--samples 1
--method entropy
--method percentile --percentile 60
--method max --memory 1KiB
--equalize
--bias-correction
--no-sqnr
--eval random:3
--mean 100
--std 50
--channel-order bgr
--shape image=2x3x8x8
END
qdq quantize m.onnx -o q.onnx -f -e sim:sim.json -q --min-sqnr 0 "${data[@]}" --mean 100 \
    --cache-out wide.json --threads 1 >/dev/null
both "${data[@]}" --cache wide.json
qdq autotune m.onnx -o tuned -f -e sim:sim.json -q --min-sqnr 0 "${data[@]}" --mean 100 \
    --min-gain 49% --cache-out mine.json --calib-threads 1 >/dev/null
cmp mine.json wide.json && echo "the same ranges"
