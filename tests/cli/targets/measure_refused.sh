# what is no way to measure
try() {
    qdq targets "$@"
    echo "exit code $?"
}
cat >cost.json <<END
{"qdq_sim": 1, "noise": 0.6, "default": {"float_us": 10, "int8_us": 5}}
END
try ort-cpu --measure
try ort-cpu --measure -o my.json --install
try --measure -o my.json
try ort-cpu -o my.json
try ort-cpu --install
try ort-cpu openvino
try tensorrt --measure -o my.json -e sim:cost.json
try "$FIXTURES/probes.json" --measure -o my.json -e sim:cost.json 2>&1 |
    sed 's/[01]\.[0-9]* to [0-9.]*;/A to B;/'
try ort-cpu --measure -o my.json --time 0.001s -e "sim:$FIXTURES/sim.json"
ls my.json
env -u HOME -u XDG_CONFIG_HOME qdq targets "$FIXTURES/probes.json" --measure --install \
    -e "sim:$FIXTURES/sim.json"
echo "exit code $?"
