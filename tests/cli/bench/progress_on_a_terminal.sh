# needs: terminal
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
# rounds that take their time without the processor
sed 's/^{/{"fail": [{"at": "time", "hang": 0.002}],/' "$FIXTURES/sim.json" >sim.json

script -qec 'qdq bench linear.onnx -e sim:sim.json --rounds 200' /dev/null </dev/null |
    tr '\r' '\n' | grep -c ' of 200'  | sed 's/[1-9][0-9]*/some/'
script -qec 'qdq bench linear.onnx -e sim:sim.json --rounds 200 --progress never' /dev/null \
    </dev/null | tr '\r' '\n' | grep -c ' of 200'
script -qec 'qdq bench linear.onnx -e sim:sim.json --rounds 200 -q' /dev/null </dev/null |
    tr '\r' '\n' | grep -c ' of 200'
true
