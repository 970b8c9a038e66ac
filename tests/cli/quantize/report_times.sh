# measures
# the page has the measurement of the summary; where the summary has none, so has the page
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq targets ort-cpu | sed 's/"engine": "ort"/"engine": "sim"/' >own.json
q() {
    qdq quantize conv.onnx -e sim:sim.json -o q.onnx --calib random:1 -q -f --report page.html \
        --json "$@" >out.json
    grep -m1 -o '"not_measured": "[^"]*"' out.json
    grep -o 'Not measured: [^<]*' page.html
    grep -o 'Median of [0-9]* runs' page.html | sed 's/[0-9][0-9]*/N/'
}
q --target own.json
printf '<b>%.2f' "$(grep -m1 '"speedup"' out.json | tr -dc 0-9.)" >figure
cat figure; echo
grep -c "$(tail -c 5 figure)" page.html | sed 's/^[1-9].*/is on the page/'
q
q --target own.json --no-bench
