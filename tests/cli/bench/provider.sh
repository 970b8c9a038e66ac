# needs: ort
# other execution providers: what the library does not have, and what is no such option
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq bench linear.onnx --provider CPU --rounds 2 | grep -c linear.onnx
qdq bench linear.onnx --provider Abacus:beads=10,rows=7 2>missing.txt
echo "exit code $?"
grep -o "has no provider.*found" missing.txt
qdq bench linear.onnx --provider Abacus:beads
echo "exit code $?"
cp "$FIXTURES/sim.json" .
qdq bench linear.onnx -e sim:sim.json --provider CPU
echo "exit code $?"
qdq quantize linear.onnx -o q.onnx -e sim:sim.json --provider CPU
echo "exit code $?"
qdq bench linear.onnx -e sim:sim.json,ort --provider CPU --rounds 2 | grep -c linear.onnx
qdq engines ort --provider CPU --json | grep -o 'cpu; provider CPU'
