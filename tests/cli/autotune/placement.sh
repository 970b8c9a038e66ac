# what users leave out stays out
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
tune() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?: $(qdq inspect tuned/model.onnx | sed -n 's/^Q\/DQ *//p')"
}
tune
tune --target ort-cpu
tune --exclude conv1
tune --include conv1
tune --op-types Gemm
tune --exclude-op-types Gemm
tune -x conv1 -x gemm
tune --no-optimize
