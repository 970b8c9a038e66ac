# what misses --min-sqnr is named on stderr, with the place where it is worst; the exit code is 1
cat >a.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 13]>
boxes (float[N,3,4] x) => (float[N,3,4] y) { y = Identity(x) }
M
cat >b.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 13]>
boxes (float[N,3,4] x) => (float[N,3,4] y) <float[1,3,1] c = {1, 1, 0.5}> { y = Mul(x, c) }
M
qdq compare a.onnxtxt b.onnxtxt --data random:1 --min-sqnr 40 --json >out.json
echo "exit code $?"
sed -n 's/^ *"\(axis\|index\|worst_db\)"/\1/p' out.json
qdq compare a.onnxtxt b.onnxtxt --data random:1 --min-sqnr 6
