# Samples of several lengths, and caches that are empty: candidates are timed on a typical one.
# needs: ort
. "$FIXTURES/transformer.bash"
make tiny gpt "0 1 12" "0 9"
cat >sim.json <<'JSON'
{"qdq_sim": 1, "overhead_us": 5, "ops": {"Gemm": {"float_us": 50, "int8_us": 20, "inputs": 2},
"MatMul": {"float_us": 50, "int8_us": 20, "inputs": 2}}}
JSON
qdq autotune m.onnx -o tuned -e sim:sim.json --calib calib --no-sqnr --progress never -t 1 >out.txt
echo "exit $?"
grep "^input 'past_key_values.0.key'" out.txt
tail -1 out.txt | cut -d, -f1
qdq check tuned/model.onnx
# a file of single tokens without a cache: nothing but empty caches
"$BUILD/tests/gen_transformer" tiny gpt m.onnx first 1 8 1 0
qdq autotune m.onnx -o first_tuned -e sim:sim.json --calib first --no-sqnr --progress never -t 1 \
    >out.txt
echo "exit $?"
grep "^input 'past_key_values.0.key'" out.txt
