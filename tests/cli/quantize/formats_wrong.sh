try() {
    qdq quantize "$FIXTURES/conv.onnxtxt" -f -o q.onnx "$@"
    echo "$* -> $?"
}
try --format int3
try --activation-type int3
try --weight-type float
try --activation-type uint8 --symmetric --asymmetric
try --per-tensor --per-channel
try --per-tensor --block-size 32
try --block-size many
try --block-size -2
try --weight-method best
try --weights packed
try --bias int8
try --rest fp8
try --rest fp16 --rest-keep '('
try --rest-keep Softmax
try --direct-io
try --activation-type float8e4m3fn
try --format dynamic --target tensorrt
try --format int8 --weight-method awq-full
try --plan p --format int8
try --plan p --symmetric
try --plan p --weights codes
try --plan p --rest fp16
try --set activation.type.x=1
