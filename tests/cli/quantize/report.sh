qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -q -o q.onnx --calib random:1 --report page.html --json |
    grep -A1 page.html | grep -o 'page.html'
grep -o '<h1>[^<]*\|<h2[^>]*>[^<]*' page.html
qdq quantize conv.onnx -e sim:sim.json -q -o r.onnx --calib random:1 --report page.html
qdq quantize conv.onnx -e sim:sim.json -q -o r.onnx --calib random:1 --report no/where/page.html
qdq quantize conv.onnx -e sim:sim.json -q -o r.onnx --calib random:1 --report r.onnx
qdq quantize conv.onnx -e sim:sim.json -q -o r.onnx --calib random:1 --no-sqnr --report other.html \
    >/dev/null
# a page of a plan that is applied without an engine says what was not measured
qdq quantize conv.onnx -e sim:sim.json -q -o s.onnx --calib random:1 --no-sqnr --plan-out p.json \
    >/dev/null
qdq quantize conv.onnx -q -o t.onnx --plan p.json --report plan.html >/dev/null
grep -o 'Not measured: nothing was run' plan.html | sort -u
ls
grep -o '[0-9]* nodes quantized[^<]*' page.html
