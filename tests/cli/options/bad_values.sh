try() {
    qdq "$@"
    echo "$* -> $?"
}
try copy m --opset
try copy m --opset=
try copy m --opset 6
try copy m --opset 27
try copy m --opset 1x
try copy m --opset -1
try copy m --opset 99999999999999999999
try copy m --external-data sometimes
try copy m --output=
try copy m -o
try copy m -o --json
try quantize m --memory 1X
try quantize m --memory 1.5G
try quantize m --memory ''
try quantize m --memory 1KiBB
try quantize m --memory 99999999T
try quantize m --mean 1,2,3,4,5
try quantize m --mean ,
try quantize m --mean nan
try quantize m --std 1,2,
try quantize m --image-size 0
try quantize m --image-size 3x
try quantize m --image-size axb
try quantize m --image-size 99999
try quantize m --min-sqnr x
try quantize m --min-sqnr inf
try quantize m --op-types A,,B
try quantize m --exclude ''
try extract m --inputs ''
try bench m --threads 1025
try bench m --progress often
