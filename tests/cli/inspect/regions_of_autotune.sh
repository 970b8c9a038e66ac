# inspect --regions shows the regions that autotune tunes with the same options
# needs: ort
{
    printf '<ir_version: 8, opset_import: ["": 20]> g (float[n,8] x) => (float[n,8] y)'
    printf \
        '<float[8,8] w = {1%s}, float r2 = {1.4142135}, float one = {1}, float half = {0.5}> {\n' \
        "$(printf ', 0.%d' {1..63})"
    printf ' h0 = Relu(x)\n'
    for i in 1 2 3 4; do # two MatMul with a Gelu in five nodes between them
        printf ' a%d = MatMul(h%d, w) b%d = Div(a%d, r2) c%d = Erf(b%d) d%d = Add(c%d, one) e%d = Mul(a%d, d%d)' \
            $i $((i - 1)) $i $i $i $i $i $i $i $i $i
        printf ' f%d = Mul(e%d, half) g%d = MatMul(f%d, w) h%d = Add(h%d, g%d)\n' $i $i $i $i $i \
            $((i - 1)) $i
    done
    printf ' y = Relu(h4) }\n'
} >m.onnxtxt
cp "$FIXTURES/sim.json" .
number() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$2"; }
more=() # options of autotune that change no region
compare() { # compare OPTION...
    rm -rf tuned
    qdq autotune m.onnxtxt -o tuned -e sim:sim.json -q --trials 1 "$@" "${more[@]}" >/dev/null || return
    qdq inspect m.onnxtxt --regions --all-regions --json -e sim:sim.json "$@" >shown.json || return
    shown="$(grep -c '"level"' shown.json) regions, $(grep -c '"signature"' shown.json) patterns"
    tuned="$(number regions tuned/report.json) regions, $(number patterns tuned/report.json) patterns"
    echo "$*${more[*]:+ (${more[*]})}: shown $shown; tuned $tuned"
    # every pattern that was tuned is among those shown
    sed -n 's/^ *\(- \)\{0,1\}pattern_signature: *//p' tuned/patterns.yaml | tr -d "'\"" |
        sort -u >signatures
    [ -s signatures ] || echo "no pattern was tuned"
    while read -r signature; do
        grep -qF "\"$signature\"" shown.json || echo "not shown: $signature"
    done <signatures
}
compare
compare --max-region-size 3
small=(--max-region-size 3 --min-refine-size 4)
compare "${small[@]}"
compare "${small[@]}" --target openvino
compare "${small[@]}" --target tensorrt
compare "${small[@]}" --no-optimize
compare "${small[@]}" --passes quantize,-fuse-gelu
compare "${small[@]}" --no-fold MatMul --growth-budget 0
compare "${small[@]}" --fold-only MatMul,Add --fold-input-bytes 1KiB --fold-output-bytes 1KiB
compare "${small[@]}" --equalize
compare "${small[@]}" --region-builder names
compare "${small[@]}" --set-shape x=4x8
compare "${small[@]}" --format int8 --per-tensor --cpu vnni
echo "-- options that choose nodes change no region"
echo 'op MatMul' >matmul.txt
for option in '-x a1' '-i a' '--op-types MatMul' '--exclude-op-types Add' \
    '--node-filter matmul.txt' '--type int8'; do
    read -ra more <<<"$option"
    compare "${small[@]}"
done
echo "-- the engine chooses the target"
for e in ort openvino trtexec; do
    echo "$e $(qdq inspect m.onnxtxt --regions -e $e | sed -n 's/^coverage *//p')"
done
