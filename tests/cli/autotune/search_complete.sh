# A search that ends before its time says so.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq autotune conv.onnx -o tuned -e sim:sim.json --time 1h --progress never | grep '^search' | sed 's/[0-9][0-9.]*/N/g; s/candidates/candidate/'
qdq autotune conv.onnx -o other -e sim:sim.json --progress never | grep -c '^search'
