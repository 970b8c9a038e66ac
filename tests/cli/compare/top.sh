# --per-tensor lists the worst layers, ten unless told, and how to keep one in float.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx -e sim:sim.json -q --calib random:1 --no-sqnr >/dev/null
qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json --per-tensor --top 1 | sed '1,/^$/d'
qdq compare conv.onnx q.onnx -d random:1 -e sim:sim.json --per-tensor --top 0 | grep -c more
