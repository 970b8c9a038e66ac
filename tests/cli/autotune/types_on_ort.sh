# needs: ort
# every type that the engine has kernels for is what its candidates have; another is refused with
# the reason
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
tune() {
    rm -rf tuned
    qdq autotune conv.onnx -o tuned -q --preset quick --calib "$FIXTURES/nine.npy" --keep-models \
        "$@" >/dev/null
    echo "$* -> $?"
    for m in tuned/region_models/*.onnx; do
        [ -e "$m" ] && qdq import "$m" -q -o plan.json -f >/dev/null &&
            sed -n '/"tensors"/,/"weights"/s/.*"type": "\([a-z0-9]*\)".*/\1/p' plan.json
    done | sort -u
}
tune --type int8
tune --type uint8
tune --rest fp16
tune --rest bf16
tune --type fp8
