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
