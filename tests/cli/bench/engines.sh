# several engines: a table, a list in JSON, and what becomes of commas
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" sim.json
cp sim.json a,b.json
cp sim.json 'x,ort'
qdq bench linear.onnx conv.onnx --engine sim:sim.json,sim:a,b.json --rounds 20
echo "given twice, and in JSON"
qdq bench linear.onnx conv.onnx --engine sim:sim.json --engine sim:a,b.json --rounds 20 --json |
    grep -E '"(spec|failed|speedup|engines|run_as)"'
echo "a file whose name ends like a list"
qdq bench linear.onnx --engine 'sim:x\,ort' --rounds 20 | tail -1
echo "a mistake is told before anything is measured"
qdq bench linear.onnx --engine sim:sim.json,abacus
echo "exit code $?"
qdq bench linear.onnx --engine sim:sim.json --engine abacus
echo "exit code $?"
qdq bench linear.onnx $(printf -- '-e sim:sim.json %.0s' $(seq 17))
echo "exit code $?"
