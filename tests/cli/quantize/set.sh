# --set changes a key of the target; what it refuses is refused as in a file.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq quantize conv.onnx -e sim:sim.json --calib random:3 --dry-run --json "$@" >plan.json
    echo "$* -> $? $(grep -o '"type": "[a-z0-9]*"' plan.json | sort -u | tr -d '\n')"
}
try
try --set activation.type=int8 --set activation.symmetric=true
try --set activation.type=float3
try --set activation.kind=int8
try --set name.type=int8
try --set activation.type
try --set =int8
echo "== entries of lists have numbers"
try --set operators.0.off=true
try --set stay_float.0.off=true
try --set operators.0.off=perhaps
try --set operators.0.epilogue.0=Abs
try --set operators.99.off=true
try --set operators.18446744073709551616.off=true
try --set operators.conv.off=true
try --set operators.=true
try --set operators.0=1
try --set name.type.more=int8
try --set 'stay_float=[]' --set stay_float.0.off=true
echo "== a plan is what it is"
qdq quantize conv.onnx -o q.onnx --plan p --set bias.type=float
echo "with a plan: $?"
