# types as --type, as --format, or key by key; fp8 on an engine that can
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
tune() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?: $(sed -n 's/.*"type": "\([a-z0-9]*\)".*/\1/p' tuned/plan.json | sort | uniq -c | tr -s ' \n' ' ')"
}
tune
tune --type int8
tune --format int8
tune --type uint8
tune --type fp8
tune --type fp8 --target tensorrt-fp8
tune --type target
tune --rest fp32
tune --rest fp16
tune --rest bf16
tune --activation-type uint8 --weight-type int8 --asymmetric
tune --symmetric --per-tensor --reduce-range --pow2
tune --weight-asymmetric --per-channel
tune --bias float
tune --weights float --weight-method mse
tune --rest fp16 --rest-keep Softmax --direct-io
tune --set activation.type=int8 --set activation.symmetric=true
tune --block-size 0
tune --accuracy-level 4
tune --tables
