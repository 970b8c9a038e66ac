# One -v shows notes, two show more, -q takes warnings away, -qq errors too.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
quantize() {
    qdq quantize conv.onnx -f -o q.onnx -e sim:sim.json "$@" 2>log >/dev/null
    echo "$* -> $?: $(cut -d: -f2 log | sort -u | tr -d "\n")"
}
quantize
quantize -v
quantize -vv
quantize --verbose --quiet
quantize -q
quantize -qq
quantize --target nothing
quantize --target nothing -q
quantize --target nothing -qq
quantize --target nothing -q --quiet --quiet
quantize --progress never
quantize --progress=auto
