# an engine that is not to be had, and models that one refuses: told, the others are measured
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cat >q.onnxtxt <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
q (float[1,2] x) => (float[1,2] y) <float s = {0.02}, int8 z = {0}, int8[2,2] w = {1, 2, 3, 4}>
{
  xq = QuantizeLinear(x, s, z)
  xd = DequantizeLinear(xq, s, z)
  wd = DequantizeLinear(w, s, z)
  [mm] y = MatMul(xd, wd)
}
EOF
cp "$FIXTURES/sim.json" sim.json
sed 's/^{/{"fail": [{"at": "time", "node": "mm", "message": "out of abaci"}],/' sim.json >time.json
sed 's/^{/{"fail": [{"at": "open", "node": "mm", "message": "no such tile"}],/' sim.json >open.json
echo '{"qdq_sim": 1, "fail": [{"at": "time", "nth": 9, "message": "tired"}]}' >tired.json
echo "an engine is missing"
qdq bench linear.onnx conv.onnx --engine ort,sim:sim.json --ort-library ./none.so --rounds 20
echo "exit code $?"
echo "one model fails while it is timed"
qdq bench linear.onnx q.onnxtxt conv.onnx --engine sim:sim.json,sim:time.json --rounds 20
echo "exit code $?"
echo "the first one does not load: no ratios"
qdq bench q.onnxtxt linear.onnx --engine sim:open.json --rounds 20
echo "exit code $?"
qdq bench q.onnxtxt linear.onnx --engine sim:open.json,sim:none.json --rounds 20 --json
echo "exit code $?"
echo "none of them fails alone"
qdq bench linear.onnx conv.onnx --engine sim:tired.json,sim:sim.json --rounds 20
echo "exit code $?"
echo "nothing can be measured"
qdq bench q.onnxtxt --engine ort,sim:open.json --ort-library ./none.so
echo "exit code $?"
