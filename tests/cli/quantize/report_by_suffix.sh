# --report X.json writes the JSON of --json, every other name the page
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
q() { qdq quantize conv.onnx -e sim:sim.json -q --calib random:1 "$@"; }
q -o a.onnx --report a.json >/dev/null
grep -o '"left_float"\|"page"' a.json
q -o b.onnx --report b.html >/dev/null
grep -c '<h1>' b.html
# the file has what stdout has, but for itself
q -o a.onnx --report a.json --overlay o.json --json -f >out.json
diff out.json a.json | grep -c 'a.json'
q -o a.onnx --report a.json
qdq optimize conv.onnx -o c.onnx --report c.html
echo "exit code $?"
ls
