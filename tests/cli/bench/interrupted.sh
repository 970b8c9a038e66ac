qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
cp "$FIXTURES/sim.json" .

set -m # else a script's background jobs ignore Ctrl-C
qdq bench linear.onnx -e sim:sim.json --rounds 1000000 &
sleep 0.4
kill -INT $!
wait $!
