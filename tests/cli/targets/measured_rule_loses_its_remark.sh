# A description from an engine's sources says of each rule that it was not measured, until it was.
cat >cost.json <<END
{"qdq_sim": 1, "default": {"float_us": 10}, "convert": {"float_us": 1},
 "ops": {"Conv": {"float_us": 10, "float_us_per_k": 50, "int8_us": 50, "int8_us_per_k": 1}}}
END
sed 's/"qdq_target": 1,/"qdq_target": 1, "unmeasured": true,/' "$FIXTURES/probes.json" >sources.json
why() {
    qdq quantize "$FIXTURES/conv.onnxtxt" -o out.onnx --plan-out plan.json --target "$1" \
        --op-types Conv --calib random:1 -e "sim:$FIXTURES/sim.json" -q >/dev/null
    grep -o '"rule": "[^"]*"' plan.json | sort -u
    rm -f out.onnx plan.json
}
why ./sources.json
qdq targets ./sources.json --measure -o mine.json -e sim:cost.json >/dev/null
echo "exit $?"
why ./mine.json
sed 's/"qdq_target": 1,/"qdq_target": 1, "unmeasured": "yes",/' "$FIXTURES/probes.json" >wrong.json
qdq targets ./wrong.json >/dev/null
