qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q --calib random:1 --no-sqnr >/dev/null

qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json --per-tensor --json >out
grep -A 1000 '"layers"' out | grep -o '"\(node\|tensor\)": "[a-z0-9]*"'
qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json --per-tensor | sed '1,/^layer/d' |
    grep -v SQNR | tr -s ' ' | cut -d' ' -f1-3
