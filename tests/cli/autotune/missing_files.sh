# what is not there, or not what it should be: exit 4, and nothing is left behind
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq autotune "$@" -e sim:sim.json
    echo "$* -> $?"
}
try none.onnx -o tuned
try conv.onnx -o conv.onnx
try conv.onnx -o no/where
try conv.onnx -o conv.onnx/tuned
try conv.onnx -o tuned --node-filter none
try conv.onnx -o tuned --pattern-cache none.yaml
try conv.onnx -o tuned --qdq-baseline none.onnx
try conv.onnx -o tuned --calib none.npz
try conv.onnx -o tuned --cache-out no/where.json
try conv.onnx -o tuned --target none.json
qdq autotune --status none
echo "--status none -> $?"
mkdir empty
qdq autotune --status empty
echo "--status empty -> $?"
ls
