# two options that name one file, written or read, are a mistake: nothing is overwritten
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
tune() {
    qdq autotune conv.onnx -o tuned -e sim:sim.json -q "$@" >/dev/null
    echo "exit code $?"
}
tune --report page.html --overlay page.html
tune --overlay conv.onnx -f
tune --overlay nine.npy --calib nine.npy -f
tune --qdq-baseline conv.onnx --report conv.onnx -f
tune --store page.html --report page.html
mkdir tuned
tune --report tuned/report.html -f
tune --overlay ./tuned/model.onnx -f
ls tuned
