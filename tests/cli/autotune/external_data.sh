# where the weights of what is written go: as the input had them, beside the models, or into them
. "$FIXTURES/chain.sh"
chain 32 >m.onnxtxt
cp "$FIXTURES/sim.json" .
tune() { # tune DIR MODEL OPTION...: and the folder's models and side files
    local dir=$1 model=$2
    shift 2
    qdq autotune "$model" -o "$dir" -e sim:sim.json -q "$@" >/dev/null
    echo "$* -> $?: $(cd "$dir" && echo *.onnx *.data | sed -E "s/[0-9a-f]{16}\.data/HASH.data/g")"
    qdq check "$dir/model.onnx" -qq && qdq check "$dir/baseline.onnx" -qq && echo "both are valid"
}
tune inside m.onnxtxt
tune beside m.onnxtxt --external-data always
qdq copy m.onnxtxt -o apart.onnx --external-data always
tune kept apart.onnx
tune taken_in apart.onnx --external-data never
echo "a finished run, asked for once more in another form, is not rewritten without -f"
sum() { cat inside/*.onnx | cksum; }
before=$(sum)
tune inside m.onnxtxt --external-data always 2>&1
[ "$before" = "$(sum)" ] && echo "nothing has changed"
tune inside m.onnxtxt --external-data always -f
qdq quantize m.onnxtxt --plan beside/plan.json -o applied.onnx -q >/dev/null
qdq copy beside/model.onnx -o whole.onnx --external-data never -q
cmp applied.onnx whole.onnx && echo "the same model in either form"
qdq autotune m.onnxtxt -o beside -e sim:sim.json --store beside/model.onnx.0123456789abcdef.data
echo "a store with the name of a side file -> $?"
