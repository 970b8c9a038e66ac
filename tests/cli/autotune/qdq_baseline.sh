# a file with Q/DQ that nothing beats is the result, byte by byte; one that is beaten, ruled out or
# no model is told
. "$FIXTURES/chain.sh"
chain 6 >m.onnxtxt
cp "$FIXTURES/sim.json" .
qdq copy m.onnxtxt -o m.onnx
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnx -o "$dir" -e sim:sim.json --progress never "$@" >out.txt 2>err.txt
    echo "$* -> $?"
    sed 's/qdq-baselines=[^,)]*/qdq-baselines=X/g; s/[0-9][0-9.]*/N/g' err.txt
}
show() { # what became of each, without its numbers
    sed -n 's/^\([a-z]*\.onnx\) .* \(beaten\|shipped\|placement.*\)$/\1 \2/p' out.txt
    tail -1 out.txt | sed 's/, [0-9.]*x (.*)//'
}
tune rules
cp rules/model.onnx same.onnx
tune some --exclude 'fc[1-5]'
cp some/model.onnx few.onnx
tune twice --qdq-baseline few.onnx --qdq-baseline same.onnx
show
cmp twice/model.onnx same.onnx && echo 'the bytes of the file'
grep -c '"created_by": "qdq .*, imported"' twice/plan.json
# into the folder where it lies, it would be replaced
tune rules --qdq-baseline rules/model.onnx
# other weights
chain 6 | sed 's/0\.1/0.7/g' >other.onnxtxt
qdq autotune other.onnxtxt -o others -e sim:sim.json -q >/dev/null
cp others/model.onnx other.onnx
tune other --qdq-baseline other.onnx
show
# no models of this network, and none at all
cp "$FIXTURES/conv.onnxtxt" .
head -c 100 few.onnx >half.onnx
for f in conv.onnxtxt m.onnx half.onnx none.onnx; do
    tune refused --qdq-baseline $f
done
# another run
tune twice --qdq-baseline few.onnx
tune twice --qdq-baseline few.onnx -f
