# what was decided of each node, in the model itself, only where it is asked for
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
make() { qdq quantize conv.onnx -e sim:sim.json -q --calib random:1 "$@" >/dev/null ||
    echo "$* -> $?"; }
make -o plain.onnx
make -o noted.onnx --metadata
make -o again.onnx --metadata
cmp noted.onnx again.onnx # the same bytes each time
grep -c 'qdq\.format' plain.onnx
grep -ao 'qdq\.[a-z]*' noted.onnx | sort | uniq -c
qdq inspect plain.onnx --json | grep -o '"ir_version": [0-9]*'
qdq inspect noted.onnx --json | grep -o '"ir_version": [0-9]*'
# but for the notes and the version it is the same model; the notes survive a copy, and are not
# doubled
qdq compare plain.onnx noted.onnx -e sim:sim.json --data random:3 -q >/dev/null && echo equal
qdq copy noted.onnx -o copied.onnx
grep -ao 'qdq\.[a-z]*' copied.onnx | wc -l
# every node has its note once, of 18 with the Q and DQ that stay
qdq quantize noted.onnx -e sim:sim.json -q --calib random:1 --metadata -o twice.onnx >/dev/null
grep -ao 'qdq\.format' twice.onnx | wc -l
