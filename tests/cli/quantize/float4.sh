# needs: ort
# Q/DQ of float4 are read and kept; ONNX Runtime has no kernels for them, which is an error with the
# name of the engine.
m=$FIXTURES/float4.onnxtxt
kept() {
    qdq copy "$1" -o again.onnxtxt -f
    diff <(sed 1d "$m") <(sed 1d again.onnxtxt) >/dev/null && echo "$2: kept" || echo "$2: changed"
}
qdq copy "$m" -o m.onnx
kept m.onnx copy
qdq optimize m.onnx -o o.onnx | grep '^Q/DQ'
kept o.onnx optimize
qdq inspect m.onnx | grep -e '^Q/DQ' -e '^initializers'
qdq check m.onnx -T ort-cpu
fails() {
    "$@" >out 2>err
    echo "exit code $?: $(grep -o 'error: .*cannot load the model' err)"
}
fails qdq quantize m.onnx -o q.onnx -c random:0
fails qdq compare m.onnx o.onnx -d random:1
fails qdq bench m.onnx --rounds 2
ls q.onnx 2>/dev/null
qdq strip m.onnx -o f.onnxtxt
sed 1d f.onnxtxt
qdq quantize f.onnxtxt -o q.onnx -c random:0 -q >/dev/null
qdq inspect q.onnx | grep '^Q/DQ'
