# --report writes what its name says, or says that it will not: no page in page.txt, no file that is
# missing after --dry-run
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
try() {
    qdq quantize conv.onnx -e sim:sim.json --calib random:1 -q "$@"
    echo "exit code $?"
}
try -o q.onnx --report page.txt
try -o q.onnx --report page
try -o q.onnx --report page.htm
try -o q.onnx --report page.json -f
for file in report overlay plan-out cache-out; do try --dry-run --$file x.html; done
try --why conv1 --report x.html
try --dry-run -o q.onnx
qdq autotune conv.onnx -o tuned -e sim:sim.json --report page.txt
echo "exit code $?"
ls
