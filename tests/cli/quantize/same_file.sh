# two options that name one file, written or read, are a mistake: nothing is overwritten
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq quantize conv.onnx -e sim:sim.json --calib random:1 -q "$@" >/dev/null
    echo "exit code $?"
}
try -o q.onnx --report page.html --overlay page.html
try -o q.onnx --plan-out page.html --report ./page.html
mkdir folder && ln -s folder link
try -o q.onnx --plan-out folder/p.json --overlay link/p.json
try -o q.onnx --overlay q.onnx
try -o q.onnx --overlay conv.onnx -f
try -o q.onnx --cache-out conv.onnx -f
qdq quantize conv.onnx -o q.onnx -e sim:sim.json --calib random:1 -q --plan-out p.json >/dev/null
try -o q.onnx --plan-out q.onnx -f
qdq quantize conv.onnx -o r.onnx --plan p.json --report p.json -f -q
echo "exit code $?"
qdq optimize conv.onnx -o o.onnx --report ./o.onnx
echo "exit code $?"
qdq optimize conv.onnx -o o.onnx --report conv.onnx -f
echo "exit code $?"
qdq import q.onnx -o q.onnx -f
echo "exit code $?"
# a model may be changed in place
qdq quantize conv.onnx -o conv.onnx -f -e sim:sim.json --calib random:1 -q >/dev/null
echo "in place: exit code $?"
ls
