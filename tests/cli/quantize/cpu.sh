# The processor decides about weights whose products saturate; the plan and the summary name it,
# check counts pairs.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/sim.json" .
for cpu in avx2 vnni arm; do
    qdq quantize conv.onnxtxt -o $cpu.onnx -e sim:sim.json --cpu $cpu --plan-out $cpu.json \
        2>/dev/null | grep processor
    grep '"cpu"' $cpu.json
    grep -o '"axis": 0, "type": "[a-z0-9]*"\(, "pairs": true\)\?' $cpu.json | sort -u
    qdq check $cpu.onnx -T ort-cpu --cpu avx2 | grep -o 'saturates.*' | sort -u
    qdq check $cpu.onnx -T ort-cpu --cpu arm | grep -c saturates
done
# whoever names the type of weights gets it, int8 with scales that keep pairs below the limit
qdq quantize conv.onnxtxt -o named.onnx -e sim:sim.json --cpu avx2 --weight-type int8 \
    --plan-out named.json >/dev/null 2>&1
grep -o '"axis": 0, "type": "[a-z0-9]*"\(, "pairs": true\)\?' named.json | sort -u
qdq quantize conv.onnxtxt -o given.onnx --plan vnni.json --cpu avx2
echo "exit $?"
qdq check vnni.onnx --cpu avx2
echo "exit $?"
qdq quantize conv.onnxtxt -o x.onnx --cpu haswell
echo "exit $?"
