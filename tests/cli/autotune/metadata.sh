# what the search found of each node, in model.onnx; a model that stays as it came is left alone
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
tune() { qdq autotune conv.onnx -e sim:sim.json -q --calib nine.npy "$@" >/dev/null ||
    echo "$* -> $?"; }
tune -o plain
tune -o noted --metadata --overlay nodes.json
grep -c 'qdq\.' plain/model.onnx
grep -ao 'qdq\.[a-z_]*' noted/model.onnx | sort -u
cmp plain/plan.json noted/plan.json && echo 'the same plan'
tune -o float --metadata -x .
grep -o '"verdict": "[a-z]*"' float/report.json
cmp float/model.onnx float/baseline.onnx && echo 'as it came'
