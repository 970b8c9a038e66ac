# as with VNNI
# An engine that computes a form wrongly: such nodes stay float, and where that does not help
# nothing is written.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/nine.npy" .
cost() { echo '{"qdq_sim": 1, "ops": {"Conv": {"float_us": 100, "int8_us": 30, "inputs": 2}}, "wrong": ['"$1"']}'; }
cost '' >right.json
cost '{"op": "Conv", "times": 0.0001}' >conv.json
cost '{"op": "Conv", "times": 0.0001}, {"op": "Conv", "float": true, "times": 0.0001}' >both.json
q() { qdq quantize conv.onnxtxt --calib nine.npy --set engine=sim --min-sqnr 0 -f "$@"; }
echo "- right"
q -o right.onnx --engine sim:right.json --json | grep -A3 engine_check
echo "- the Conv in 8 bits is wrong"
q -o conv.onnx --engine sim:conv.json
echo "exit $?"
echo "- the Conv is wrong in any case"
q -o both.onnx --engine sim:both.json
echo "exit $?"
ls both.onnx
echo "- a loss that no node in 8 bits explains is refused, too"
cost '{"op": "Conv", "times": 0.0001}, {"op": "Conv", "float": true, "times": 0.9}' >loss.json
q -o loss.onnx --engine sim:loss.json
echo "exit $?"
ls loss.onnx
echo "- the plan, --why, the goal and the outputs are those of what is written"
q -o why.onnx --engine sim:conv.json --plan-out why.json --why conv1 | sed -n '/^why/,/^$/p'
grep -o '"reason": "engine check[^"]*"' why.json
qdq quantize conv.onnxtxt --calib nine.npy -f --set engine=sim -o goal.onnx --engine sim:conv.json \
    --json |
    grep -A1 '"reached"\|"name"\|"result"'
echo "- another engine than the target's is not asked"
qdq quantize conv.onnxtxt --calib nine.npy -o other.onnx --engine sim:conv.json --min-sqnr 0 \
    --json | grep -c engine_check
echo "- unless the goal is missed there: then nothing is searched for, and nothing stays float"
other() { qdq quantize conv.onnxtxt --calib nine.npy -f -o other.onnx --engine sim:conv.json "$@"; }
other --json | grep -E '"(reached|engine_check|quantized_nodes|verdict)"|"tensors"|"weights": [0-9]'
echo "exit ${PIPESTATUS[0]}"
qdq inspect other.onnx --json | grep -c DequantizeLinear
other 2>/dev/null | grep "^accuracy is"
rm other.onnx
other --min-sqnr 30
echo "exit $?"
ls other.onnx
other --min-sqnr 30 --best-effort -q >/dev/null
echo "exit $?"
echo "- and one that computes it correctly judges as ever"
qdq quantize conv.onnxtxt --calib nine.npy -f -o other.onnx --engine sim:right.json --json |
    grep '"reached"'
