# Numbers and calls that end engines: check finds them by itself, and no command hands them to an
# engine.
cat >blocks.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4,2,2] x) => (y) { [d] y = DepthToSpace <blocksize = 4294967296> (x) }
M
cat >batch.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[2,2] x, int64[1,1] i) => (y) { [g] y = GatherND <batch_dims = -9223372036854775808> (x, i) }
M
cat >pads.onnxtxt <<'M'
<ir_version: 9, opset_import: ["" : 17]>
g (float[2,2] x) => (y) <int64[4] pads = {0, 0, -2147483648, 0}> { [p] y = Pad (x, pads) }
M
awk 'BEGIN {
    print "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\ng (float[2,2] x) => (y) { [f] y = my.F0 (x) }"
    for (i = 0; i < 3000; i++)
        printf "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\nF%d (a) => (b) { b = %s (a) }\n", i, \
            i < 2999 ? "my.F" i + 1 : "Neg"
}' >calls.onnxtxt
cp "$FIXTURES/sim.json" .
try() {
    echo "-- $*"
    qdq "$@" 2>&1
    echo "exit code $?"
}
for m in blocks batch pads calls; do
    try check $m.onnxtxt
    try check $m.onnxtxt -e sim:sim.json
    try bench $m.onnxtxt -e sim:sim.json
    try quantize $m.onnxtxt -e sim:sim.json -o out.onnx
    try compare $m.onnxtxt $m.onnxtxt -e sim:sim.json --data random:1
    try inspect $m.onnxtxt --groups -e sim:sim.json
    try optimize $m.onnxtxt --passes drop-identity --check random:1 -e sim:sim.json -o out.onnx
    try autotune $m.onnxtxt -e sim:sim.json -o run
    rm -rf run out.onnx
done
