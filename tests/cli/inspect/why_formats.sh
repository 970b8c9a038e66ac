# The formats that a target would use are asked for as in quantize.
why() {
    echo "$*: $(qdq inspect "$FIXTURES/conv.onnxtxt" --why gemm "$@" | sed -n 's/.*plan *yes *\([a-z]* .*\) (rule.*/\1/p' | tr '\n' ';')"
}
why --format int8
why --activation-type uint16
why --activation-type int8 --symmetric
why --asymmetric
why --weight-type uint8
why --weight-asymmetric
why --per-tensor
why --per-channel
why --reduce-range
why --pow2
why --format uint4 --block-size 16
why --format int4 --weight-method mse
why --format int4 --weights nbits
why --bias float
why --rest fp16 --rest-keep Softmax --direct-io
why --format int4 --weights nbits --accuracy-level 1 --tables
