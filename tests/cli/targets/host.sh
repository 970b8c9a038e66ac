# Rules are measured on another machine, and are those of its processor.
cat >cost.json <<END
{"qdq_sim": 1, "default": {"float_us": 10}, "convert": {"float_us": 1},
 "ops": {"Conv": {"float_us": 10, "float_us_per_k": 50, "int8_us": 50, "int8_us_per_k": 1}}}
END
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq targets "$FIXTURES/probes.json" --measure -o here.json -e sim:cost.json -q
qdq targets "$FIXTURES/probes.json" --measure -o there.json -e sim:cost.json -q --host "$host" \
    --host-timeout 1m
cmp here.json there.json && echo same
export XDG_CONFIG_HOME=$PWD/config
qdq targets "$FIXTURES/probes.json" --measure --install -e sim:cost.json -q --host "$host"
find config -type f | wc -l
qdq targets ort-cpu --host "$host"
echo "exit $?"
