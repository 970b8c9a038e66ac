try() {
    qdq optimize "$FIXTURES/untidy.onnxtxt" "$@" 2>&1
    echo $?
}
try -o out.onnx --tolerance 0.1
try -o out.onnx --samples 3
try -o out.onnx --shape image=1x2x6x6
try -o out.onnx --bisect --check random:1
try --report r.json --bisect --check random:1
try -o out.onnx --check random:1 --tolerance -1
try -o out.onnx --check random:1 --tolerance nan
try -o out.onnx --check random:x
try -o out.onnx --check random:1 --shape imag=1x2x6x6
try -o out.onnx --check random:1 --shape image=1x3x6x6
ls out.onnx 2>/dev/null
