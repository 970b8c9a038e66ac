# needs: ort
# Q/DQ of 2 bits that a model has are read, kept bit for bit by all commands that write a model,
# computed by the engine and undone by `strip`.
m=$FIXTURES/two_bits.onnxtxt
kept() {
    qdq copy "$1" -o again.onnxtxt -f
    diff <(sed 1d "$m") <(sed 1d again.onnxtxt) >/dev/null && echo "$2: kept" || echo "$2: changed"
}
qdq copy "$m" -o m.onnx
kept m.onnx copy
qdq optimize m.onnx -o o.onnx --check random:1 | grep -e '^Q/DQ' -e '^against'
kept o.onnx optimize
qdq inspect m.onnx | grep -e '^Q/DQ' -e '^initializers'
qdq check m.onnx
for target in ort-cpu openvino tensorrt int4 ort-cpu-int4; do
    qdq quantize m.onnx -o q.onnx -f -T $target --cpu avx512 -c random:0 >table 2>/dev/null
    kept q.onnx "$target"
    sed -n '/^left float/,/^$/p' table
done
# a warning on stderr: ONNX Runtime 1.31 cannot load one of them with its optimizations
qdq compare m.onnx q.onnx -d random:2 2>/dev/null
qdq strip m.onnx -o f.onnxtxt
sed 1d f.onnxtxt
