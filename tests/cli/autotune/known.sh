# what was found out once is tried first: fewer builds, and the result is not worse
. "$FIXTURES/chain.sh"
chain 12 >m.onnxtxt
cp "$FIXTURES"/{sim.json,conv.onnxtxt} .
sed 's/"seed"/"no_profile": true, "seed"/' sim.json >blind.json # more to measure
sim=sim.json
value() { sed -n "s/.*\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnxtxt -o "$dir" -e "sim:$sim" -q "$@" >/dev/null
    echo "$* -> $?"
}
tune cold
tune warm --pattern-cache cold/patterns.yaml
[ "$(value warm builds)" -lt "$(value cold builds)" ] && echo "fewer builds"
cmp cold/plan.json warm/plan.json && echo "the same plan"
tune twice --pattern-cache cold/patterns.yaml --pattern-cache warm/patterns.yaml
tune imported --qdq-baseline cold/model.onnx
cmp cold/model.onnx imported/model.onnx && echo "the same model: nothing beat it"
tune alien --qdq-baseline conv.onnxtxt
# A comment, an empty line, and only patterns with a node that fits are tuned
printf '# the last ones\n\nfc1[01]\n' >last.txt
sim=blind.json
tune all
tune filtered --node-filter last.txt
[ "$(value filtered builds)" -lt "$(value all builds)" ] && echo "fewer builds"
sim=sim.json
quantized() { sed -n '/"quantized"/,/]/s/.*"node": "\([^"]*\)".*/\1/p' "$1/plan.json" |
    tr '\n' ' '; }
echo "all: $(quantized all)"
echo "filtered: $(quantized filtered)"
echo 'nowhere*' >none.txt
tune nowhere --node-filter none.txt
echo "nowhere: $(quantized nowhere)"
: >empty.txt
tune empty --node-filter empty.txt
echo 'pattern_schemes: 7' >malformed.yaml
tune malformed --pattern-cache malformed.yaml
echo '- [' >broken.yaml
tune broken --pattern-cache broken.yaml
