# needs: terminal
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp "$FIXTURES/sim.json" .

script -qec 'qdq bench linear.onnx -e sim:sim.json --rounds 20000' /dev/null </dev/null |
    tr '\r' '\n' | grep -c ' of 20000'  | sed 's/[1-9][0-9]*/some/'
script -qec 'qdq bench linear.onnx -e sim:sim.json --rounds 20000 --progress never' /dev/null \
    </dev/null | tr '\r' '\n' | grep -c ' of 20000'
script -qec 'qdq bench linear.onnx -e sim:sim.json --rounds 20000 -q' /dev/null </dev/null |
    tr '\r' '\n' | grep -c ' of 20000'
true
