# besides the report of the search, the page that quantize --report writes about a model
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
tune() {
    qdq autotune conv.onnx -o tuned -e sim:sim.json --progress never "$@" >out.txt
    echo "$* -> $?"
}
tune --report no/where.html
tune --report page.html --calib nine.npy
grep -o '^page.html' out.txt
grep -o '<h1>[^<]*\|<h2[^>]*>[^<]*' page.html
tune --report page.html
tune --report page.html -f
tune --report float.html -x . -f # also of a model that stayed as it was
grep -o '"verdict": "[a-z]*"' tuned/report.json
grep -c '<html' float.html
tune --report sixteen.html --rest fp16 -f
grep -c '<html' sixteen.html
ls
