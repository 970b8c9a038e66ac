# A model without its side file is shown, since no tensor is read, and a warning names the file;
# views that read tensors are refused.
. "$FIXTURES/chain.sh"
chain 32 >m.onnxtxt
qdq copy m.onnxtxt -o m.onnx --external-data always
qdq inspect m.onnx >whole.txt
qdq inspect m.onnx --dot >whole.dot
rm m.onnx.*.data
try() { # try FILE OPTION...
    qdq inspect m.onnx "${@:2}" 2>&1 >out | sed -E 's/[0-9a-f]{16}\.data/HASH.data/; s,/[^ ]*/run/,,'
    echo "${PIPESTATUS[0]} ${*:2}"
    cmp out "$1"
}
touch nothing
try whole.txt
try whole.dot --dot
try nothing --why w12
try nothing --regions
try nothing --set-shape x=1x64
