# An engine that dies is told by every command, with exit code 5, and takes nothing with it.
# a sanitizer in the worker is to leave signals alone
export ASAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigfpe=0
qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq copy "$FIXTURES/qat.onnxtxt" -o qat.onnx
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
for at in open run time; do
    sed 's/^{/{"fail": [{"at": "'$at'", "crash": "SIGSEGV", "message": "last words"}],/' \
        "$FIXTURES/sim.json" >$at.json
done
mkdir tmp
export TMPDIR=$PWD/tmp
try() {
    echo "-- $*"
    timeout 60 qdq "$@" 2>&1
    echo "exit code $?"
}
try quantize linear.onnx -o q.onnx --engine sim:open.json
try quantize linear.onnx -o q.onnx --engine sim:run.json
try compare linear.onnx linear.onnx --data random:1 --engine sim:open.json
try compare linear.onnx linear.onnx --data random:1 --engine sim:run.json
try optimize linear.onnx -o o.onnx --check random:1 --engine sim:run.json
try check qat.onnx --target ort-cpu --engine sim:open.json
try inspect linear.onnx --groups --engine sim:time.json
try engines sim:time.json --self-test
echo "-- the rest is measured"
cp "$FIXTURES/sim.json" sim.json
try bench linear.onnx conv.onnx --engine sim:time.json,sim:sim.json --rounds 20
sed 's/^{/{"fail": [{"at": "open", "node": "mm", "crash": "SIGABRT"}],/' sim.json >one.json
try bench linear.onnx q.onnxtxt conv.onnx --engine sim:one.json --rounds 20
echo "-- an engine that stands still is ended"
sed 's/^{/{"fail": [{"at": "run", "hang": 1000}],/' sim.json >hang.json
try bench linear.onnx --engine sim:hang.json --engine-timeout 0.5
try compare linear.onnx linear.onnx --data random:1 --engine sim:hang.json --engine-timeout 0.5s
try bench linear.onnx --engine sim:sim.json --engine-timeout never
ls -A tmp
