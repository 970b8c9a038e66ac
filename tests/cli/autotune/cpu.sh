# the plan that is tuned is for the processor that is asked for
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
for cpu in avx2 vnni; do
    qdq autotune conv.onnx -o $cpu -e sim:sim.json --preset quick --calib nine.npy --min-sqnr 0 \
        --cpu $cpu -q >/dev/null
    echo "exit $?"
    grep '"cpu"' $cpu/plan.json
    grep -o '"axis": 0, "type": "[a-z0-9]*"\(, "pairs": true\)\?' $cpu/plan.json | sort -u
done
