# A model without its side file is refused, with the name of the file.
. "$FIXTURES/chain.sh"
chain 32 >m.onnxtxt
qdq copy m.onnxtxt -o m.onnx --external-data always
rm m.onnx.*.data
qdq inspect m.onnx 2>&1 | sed -E 's/[0-9a-f]{16}\.data/HASH.data/; s,/[^ ]*/run/,,'
