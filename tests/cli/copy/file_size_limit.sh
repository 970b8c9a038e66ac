# A limit on the size of files ends as a full disk does: exit code 4, one line, nothing left.
. "$FIXTURES/chain.sh"
chain 32 >m.onnxtxt
cp "$FIXTURES/sim.json" .
qdq copy m.onnxtxt -o big.onnx
limited() { (ulimit -f 8 && "$@"); echo "-> $?"; }
limited qdq copy big.onnx -o out.onnx
limited qdq copy big.onnx -o out.onnx --external-data always
limited qdq copy big.onnx -o out.onnxtxt
limited qdq copy big.onnx -o - 2>&1 >out.bin
tail -c 5 out.bin
limited qdq quantize big.onnx -o out.onnx -e sim:sim.json --plan-out plan.json --report out.html -q
limited qdq optimize big.onnx -o out.onnx --report out.json -q
limited qdq autotune big.onnx -o out -e sim:sim.json -q
find . -name '.*.tmp' -o -name '.work-*'
ls
