# What is not quantized becomes another float: graph inputs and outputs with it, where that is asked
# for.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
look() {
    qdq quantize conv.onnx -e sim:sim.json -q --no-sqnr -f -o q.onnx "$@" >/dev/null
    echo "$*: $(qdq inspect q.onnx | sed -n 's/^outputs *//p; s/ *\([0-9]\)  Cast/\1 Casts/p' | tr '\n' ' ')"
    qdq copy q.onnx -f -o q.onnxtxt && grep Softmax q.onnxtxt
}
look --rest fp32
look --rest fp16
look --rest bf16
look --rest fp16 --rest-keep Softmax
look --rest fp16 --rest-keep '^pro'
look --rest fp16 --direct-io
