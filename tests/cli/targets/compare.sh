# what differs between two targets
cat >cost.json <<END
{"qdq_sim": 1, "default": {"float_us": 10}, "convert": {"float_us": 1},
 "ops": {"Conv": {"float_us": 10, "float_us_per_k": 50, "int8_us": 50, "int8_us_per_k": 1}}}
END
cp "$FIXTURES/probes.json" a.json
qdq targets a.json --measure -o b.json -e sim:cost.json >/dev/null
qdq targets --compare a.json b.json | sed \
    's/sim 1, .*/sim 1, PROCESSOR/; s/"processor": ".*"/"processor": P/'
qdq targets --compare a.json b.json --json | grep '"figures_b": "pays' |
    sed 's/sim 1, .*/sim 1, PROCESSOR/'
qdq targets --compare a.json a.json
for args in "--compare" "--compare a.json" "--compare --measure a.json b.json" \
    "--compare a.json none.json" "a.json b.json"; do
    qdq targets $args
    echo "exit code $?"
done
