# a file of the same network for another batch size: it does not ship, but its types and scales are
# tried, so that the result is as fast as with the file's own shapes; a file given twice is told
. "$FIXTURES/chain.sh"
chain 6 >m.onnxtxt
chain 6 | sed 's/float\[1,/float[4,/g' >four.onnxtxt
# int8 activations, which the target does not have, are the fast ones
sed 's/"MatMul": {/&"types": {"int8": 0.4}, /' "$FIXTURES/sim.json" >sim.json
qdq copy m.onnxtxt -o m.onnx
qdq quantize four.onnxtxt -o four.onnx -e sim:sim.json --activation-type int8 --op-types MatMul -q \
    --min-sqnr 0 --no-bench
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnx -o "$dir" -e sim:sim.json --progress never "$@" >out.txt 2>err.txt
    echo "$* -> $?"
    cat err.txt
    sed -n 's/^\([a-z]*\.onnx\) .* \(beaten\|shipped\|placement.*\)/\1 \2/p' out.txt
    tail -1 out.txt | sed 's/, \([0-9]\)[0-9.]*x (.*)/, \1.Nx/'
}
tune other --qdq-baseline four.onnx
tune fixed --qdq-baseline four.onnx --set-shape x=1x4
cp fixed/model.onnx one.onnx
cp one.onnx copy.onnx
tune twice --qdq-baseline one.onnx --qdq-baseline copy.onnx
