# as with VNNI
# Each option of formats shows in the model that is written: read back as a plan, with its opset and
# its counts of Q/DQ.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
look() {
    qdq quantize conv.onnx -e sim:sim.json -q --no-sqnr -f -o q.onnx "$@" >/dev/null ||
        { echo "$* -> $?"; return; }
    qdq import q.onnx -o plan.json -f -q >/dev/null
    echo "$*:" "$(qdq inspect q.onnx | sed -n 's/^opsets *//p; s/^Q\/DQ *//p' | tr '\n' ' ')"
    sed -n 's/"rule".*//; s/"scale": [0-9.e-]*, //; /"tensor": "image"/p; /"tensor": "w1"/p' \
        plan.json |
        sed 's/"consumers": [^a-z]*[a-z0-9]*", [0-9]*\]\], //; s/\[[-0-9., e]*\]/[...]/'
}
look
look --format int8
look --format uint8
look --format int16
look --activation-type uint16
look --activation-type int8 --symmetric
look --format int8 --asymmetric
look --symmetric
look --per-tensor
look --weights float
look --bias float
look --set weight.per_channel=false --per-channel
look --per-tensor --set weight.per_channel=true
# and back, on a target that has the opposite of everything
qdq targets ort-cpu | sed 's/"symmetric": false/"symmetric": true/; s/"per_channel": true/"per_channel": false, "store": "float"/; s/"type": "int32"/"type": "float"/' >t.json
look -T t.json
look -T t.json --asymmetric
look -T t.json --per-channel
look -T t.json --weights codes
look -T t.json --bias int32
