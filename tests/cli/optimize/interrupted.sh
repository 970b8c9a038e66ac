# Ctrl-C during the check leaves nothing behind.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
mkdir tmp
export TMPDIR=$PWD/tmp
set -m
qdq optimize conv.onnx -e sim:sim.json -o out.onnx --check random:1 --samples 1000000 \
    --report report.json &
sleep 0.5
kill -INT $!
wait $!
code=$?
ls -A . tmp
exit $code
