# needs: ort
cp "$FIXTURES/sum.onnxtxt" .
quantize() { qdq quantize sum.onnxtxt -f -o q.onnx "$@" || echo "exit $?"; }
quantize --calib random:1 --state t=s --steps 3 | grep sample
quantize --calib random:1 --state t=x --state y=x --steps 3
quantize --calib random:1 --state t=s
