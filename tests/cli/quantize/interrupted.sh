qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .

set -m # else a script's background jobs ignore Ctrl-C
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --samples 1000000 --plan-out plan.json &
sleep 0.5
kill -INT $!
wait $!
code=$?
ls
exit $code
