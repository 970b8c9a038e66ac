# rules are measured on an engine with known prices, and written with their figures
cat >cost.json <<END
{"qdq_sim": 1, "default": {"float_us": 10}, "convert": {"float_us": 1},
 "ops": {"Conv": {"float_us": 10, "float_us_per_k": 50, "int8_us": 50, "int8_us_per_k": 1}}}
END
qdq targets "$FIXTURES/probes.json" --measure -o my.json -e sim:cost.json |
    sed 's,^/.*/,,; s/ on sim 1, .* probes in [0-9]* s/ on sim 1, PROCESSOR: 2 probes in N s/'
grep -c '"verdict"' my.json
grep '"out_channels_max": .*,' my.json
grep -A 4 '"measured_on"' my.json | grep -o '"engine".*'
echo "again, over a file that is there"
qdq targets "$FIXTURES/probes.json" --measure -o my.json -e sim:cost.json
echo "exit code $?"
qdq targets my.json --measure -f -o my.json -e sim:cost.json --json >out.json
grep -c '"verdict"' out.json my.json
grep -o '"after": .*' out.json
echo "a plan names the file"
qdq quantize "$FIXTURES/conv.onnxtxt" -o out.onnx --plan-out plan.json --target ./my.json \
    --calib random:1 \
    -e "sim:$FIXTURES/sim.json" -q >/dev/null
[ "$(sed -n 's/.*"target_sha256": "\(.*\)",/\1/p' plan.json)" = \
    "$(sha256sum <my.json | cut -d ' ' -f 1)" ] && echo "by its hash"
