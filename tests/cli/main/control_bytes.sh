# Names that a terminal would obey: no command prints their bytes, neither to a terminal nor
# elsewhere; JSON escapes them.
# needs: terminal
cp "$FIXTURES/sim.json" .
cat >m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
"g\x1b[2J" (float[1,4] "x\x1b[31m") => (float[1,4] "y\xc2\x9b31m")
<float[4,4] "w\x1b]0;t\x07" = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>
{
  ["n\x1b[1m\n\x0d"] a = MatMul("x\x1b[31m", "w\x1b]0;t\x07")
  ["o\xc2\x85"] "y\xc2\x9b31m" = Relu(a)
}
END
n=0
run() {
    n=$((n + 1))
    "$@" >out.$n 2>err.$n
    echo "$n -> $?"
}
run qdq copy m.onnxtxt -o m.onnx
run qdq inspect m.onnx
run qdq inspect m.onnx --json
run qdq inspect m.onnx --dot
run qdq inspect m.onnx --why n
run qdq inspect m.onnx --groups -e sim:sim.json
run qdq check m.onnx -T ort-cpu
run qdq optimize m.onnx -o o.onnx --print-changed -v -v
run qdq quantize m.onnx -o q.onnx -e sim:sim.json -v -v --plan-out p.json
run qdq quantize m.onnx -o q2.onnx -e sim:sim.json --json
run qdq quantize m.onnx --dry-run -e sim:sim.json
run qdq quantize m.onnx -o q3.onnx -e sim:sim.json --exclude 'n.*' -v
run qdq check q.onnx -T ort-cpu
run qdq strip q.onnx -o s.onnx -v
run qdq import q.onnx -o -
run qdq compare m.onnx q.onnx -e sim:sim.json -d random:2 --per-tensor
run qdq compare m.onnx q.onnx -e sim:sim.json -d random:2 --json
run qdq bench m.onnx q.onnx -e sim:sim.json
run qdq bench m.onnx -e sim:sim.json --json
run qdq extract m.onnx -o e.onnx --outputs "$(printf 'none\033[1m')"
run qdq autotune m.onnx -o t -e sim:sim.json -v
run qdq "$(printf 'bad\033[1m\302\233')"
run qdq inspect "$(printf 'no\033[1m\302\233\200such')"
cat out.* err.* | tr -d '\n' | LC_ALL=C grep -ac '[[:cntrl:]]'
cat out.* err.* | LC_ALL=C grep -c $'\302[\200-\237]'
cat out.3
cat out.2
cat err.23
script -qec 'qdq inspect m.onnx' /dev/null </dev/null | tr -d '\r\n' |
    LC_ALL=C grep -ac '[[:cntrl:]]' || :
