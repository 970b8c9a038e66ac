# needs: ort
# however it is asked for
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
try() {
    qdq autotune conv.onnx -o tuned "$@"
    echo "$* -> $?"
}
try --type fp8
try --type fp8 --engine ort
try --format fp8
try --target tensorrt-fp8
try --set activation.type=float8e4m3fn
try --format dynamic
ls
