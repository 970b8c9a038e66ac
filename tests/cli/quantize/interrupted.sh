# Ctrl-C leaves nothing behind: no half file, no temporary folder. Without `set -m` a script's
# background jobs ignore it.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
mkdir tmp
export TMPDIR=$PWD/tmp
set -m
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --samples 1000000 --plan-out plan.json &
sleep 0.5
kill -INT $!
wait $!
code=$?
ls -A . tmp
exit $code
