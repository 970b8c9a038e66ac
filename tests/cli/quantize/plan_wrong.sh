# A plan is not changed: where the engine of its target computes the model wrongly, nothing is
# written.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/nine.npy" .
cost() { echo '{"qdq_sim": 1, "ops": {"Conv": {"float_us": 100, "int8_us": 30, "inputs": 2}}, "wrong": ['"$1"']}'; }
cost '' >right.json
cost '{"op": "Conv", "times": 0.0001}' >wrong.json
qdq targets ort-cpu | sed 's/"engine": "ort"/"engine": "sim"/' >mine.json
qdq quantize conv.onnxtxt --calib nine.npy --target mine.json -e sim:right.json -q -o q.onnx \
    --plan-out plan.json >/dev/null
sed -i 's/"target": *"ort-cpu"/"target": "mine.json"/' plan.json
q() { qdq quantize conv.onnxtxt --plan plan.json "$@"; }
echo "- right"
q --calib nine.npy -e sim:right.json -o right.onnx --json | grep '"result"'
ls right.onnx
echo "- wrong"
q --calib nine.npy -e sim:wrong.json -o wrong.onnx
echo "exit $?"
echo "- in JSON"
q --calib nine.npy -e sim:wrong.json -o wrong.onnx --json
echo "exit $?"
echo "- what was there stays"
cp right.onnx wrong.onnx
q --calib nine.npy -e sim:wrong.json -o wrong.onnx -f
echo "exit $?"
cmp right.onnx wrong.onnx && rm wrong.onnx
echo "- without data, or with --no-sqnr, nothing is asked"
q -o plain.onnx | grep bytes$
q --calib nine.npy -e sim:wrong.json --no-sqnr -o unasked.onnx | grep bytes$
ls
