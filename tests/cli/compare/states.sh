# needs: ort
cp "$FIXTURES/sum.onnxtxt" .
cat >drift.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
drift (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y) <float c = {0.5}> {
  u = Add(s, c) t = Add(u, x) y = Identity(t)
}
END
compare() { qdq compare sum.onnxtxt drift.onnxtxt --data random:1 -n 2 "$@" || echo "exit $?"; }
compare --state t=s --steps 3
compare --state t=s --steps 3 --json | tr ',' '\n' | grep -e samples -e steps
compare --state z=s --steps 3
compare --state t=z --steps 3
compare --state t --steps 3
compare --state t=s
compare --steps 3
