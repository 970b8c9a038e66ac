# a measurement takes the options of engines, its own bound on time and a seed
cat >cost.json <<END
{"qdq_sim": 1, "default": {"float_us": 10}, "convert": {"float_us": 1},
 "ops": {"Conv": {"float_us": 10, "float_us_per_k": 50, "int8_us": 50, "int8_us_per_k": 1}}}
END
qdq targets "$FIXTURES/probes.json" --measure -o my.json -e sim:cost.json --threads 1 --seed 3 \
    --time 30s --engine-timeout 20 \
    --ort-library none.so --openvino-library none.so --plugin-libraries none.so -q >/dev/null 2>&1
echo "exit code $?"
grep -c '"verdict"' my.json
qdq targets "$FIXTURES/probes.json" --measure -o other.json -e sim:cost.json --provider cuda
echo "exit code $?"
