# text, JSON and status say the same; the last line is verdict, speedup and its interval
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
shape() { sed 's/[0-9][0-9.]*/N/g; s/   */  /g'; }
qdq autotune conv.onnx -o tuned -e sim:sim.json | shape
qdq autotune conv.onnx -o tuned -e sim:sim.json --json --progress never >out.json
cmp out.json tuned/report.json && echo "--json is report.json"
qdq autotune --status tuned | shape
qdq autotune --status tuned --json | grep -c -e '"state": "finished"' -e '"verdict": "tuned"'
qdq autotune conv.onnx -o with_data -e sim:sim.json --calib nine.npy --progress never |
    tail -1 | shape
qdq autotune conv.onnx -o live -e sim:sim.json --progress always 2>live.txt >/dev/null
# more than once where it takes long
tr '\r' '\n' <live.txt | grep -q '^calibrating *$' && echo 'what is going on is shown'
qdq autotune conv.onnx -o silent -e sim:sim.json --progress never >/dev/null
