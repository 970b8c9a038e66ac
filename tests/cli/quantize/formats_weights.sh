# as with VNNI
# Formats of weights, each seen in the model that is written: read back as a plan.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
look() {
    qdq quantize conv.onnx -e sim:sim.json -q --no-sqnr -f -o q.onnx "$@" >/dev/null ||
        { echo "$* -> $?"; return; }
    qdq import q.onnx -o plan.json -f -q >/dev/null
    echo "$*:" $(qdq inspect q.onnx | sed \
        -n 's/^opsets *//p; s/^Q\/DQ *//p; s/ *\(1\)  \(com.*NBits\)/\1 \2/p')
    sed -n '/"tensor": "w2"/{s/"consumers": [^a-z]*[a-z0-9]*", [0-9]*\]\], //; s/"rule".*//; p}' \
        plan.json
}
look --format fp8
look --format int4
look --format uint4
look --format int16 --weight-type int16
look --weight-type uint8
look --weight-asymmetric
look --weight-type uint8 --weight-asymmetric
look --reduce-range
look --format int4 --block-size 2
look --format int4 --block-size -1
look --format int4 --block-size 0 --per-tensor --set weight.block=0
look --format int4 --weight-asymmetric
look --format int4 --weight-method mse
look --format int4 --weights nbits
look --format uint4 --weights nbits --block-size 16
look --weights nbits
look --format int4 --weights nbits --block-size 17
look --format int4 --weights nbits --accuracy-level 4
look --accuracy-level 4
look --format int4 --tables
look --tables
look --format fp8 --weight-type int8
look --format fp8 --reduce-range
