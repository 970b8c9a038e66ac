# What was an Identity stays one; the plan says what was done, and does it again.
sed 's/  \[relu1\] features = Relu(c)/  [same] r = Identity(c)\n  [relu1] features = Relu(r)/' \
    "$FIXTURES/conv.onnxtxt" >conv.onnxtxt
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnxtxt -e sim:sim.json -q --no-optimize -o a.onnxtxt --plan-out plan.json \
    >/dev/null
grep '"clean"' plan.json
grep -o 'r = Identity' a.onnxtxt
qdq quantize conv.onnxtxt --plan plan.json -o b.onnxtxt -q >/dev/null
cmp a.onnxtxt b.onnxtxt
qdq quantize conv.onnxtxt -e sim:sim.json -q --optimize --dry-run --json |
    grep -o 'lift-constants,drop-identity,'
