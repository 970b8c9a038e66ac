# an installed target stands for the built-in one where engine, version and processor are the same
export XDG_CONFIG_HOME=$PWD/config
qdq targets "$FIXTURES/probes.json" --measure --install -e "sim:$FIXTURES/sim.json" >/dev/null
find config -type f | sed 's,/sim-[^/]*/[^/]*/,/sim-VERSION/PROCESSOR/,'
quantize() {
    qdq quantize "$FIXTURES/conv.onnxtxt" -f -o out.onnx --plan-out plan.json --calib random:1 \
        "$@" | sed -n '/^rules of/s/:.*/: FILE/p'
    sed -n 's/"target_sha256": ".*"/"target_sha256": HASH/p' plan.json
}
echo "the engine that measured it"
quantize -e "sim:$FIXTURES/sim.json"
qdq check out.onnx --target ort-cpu -e "sim:$FIXTURES/sim.json" --json |
    sed -n 's/"installed_target": ".*"/"installed_target": FILE/p'
echo "the built-in target"
quantize -e "sim:$FIXTURES/sim.json" --target builtin:ort-cpu
echo "a file that is broken"
file=$(find config -type f)
cp "$file" whole.json
echo "{" >"$file"
quantize -e "sim:$FIXTURES/sim.json" 2>&1 | sed 's,/[^ ]*/qdq/,FOLDER/qdq/,; s,/sim-.*/,/VERSION/PROCESSOR/,'
qdq quantize "$FIXTURES/conv.onnxtxt" -f -o out.onnx --calib random:1 -e "sim:$FIXTURES/sim.json" \
    2>/dev/null
echo "exit code $?"
quantize -e "sim:$FIXTURES/sim.json" --target builtin:ort-cpu
cp whole.json "$file"
echo "another version"
mv config/qdq/targets/sim-* config/qdq/targets/sim-older
quantize -e "sim:$FIXTURES/sim.json"
echo "another processor"
mv config/qdq/targets/sim-older/* config/qdq/targets/sim-older/other
quantize -e "sim:$FIXTURES/sim.json"
