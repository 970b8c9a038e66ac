m="$FIXTURES/linear.onnxtxt"
qdq inspect "$m" --all-regions
echo $?
qdq inspect "$m" --max-region-size 3
echo $?
qdq inspect "$m" --region-builder names
echo $?
qdq inspect "$m" --regions --why y
echo $?
qdq inspect "$m" --regions --region-builder modules
echo $?
qdq inspect "$m" --regions --max-region-size 0
echo $?
qdq inspect "$m" --regions --dot --json
echo $?
try() {
    qdq inspect "$m" "$@"
    echo "$* -> $?"
}
try --min-refine-size 3
try --equalize
try --no-optimize
try --passes quantize
try --growth-budget 0
try --regions --no-optimize --passes quantize
try --engine ort
try --regions --min-refine-size 0
try --regions --target nowhere
try --regions --why y --engine ort
try --regions --set-shape nothing=1x2
try --regions --runs 3
