# Weights of models that were renamed stay, a changed side file is found, and data of the input is
# not overwritten.
. "$FIXTURES/chain.sh"
chain 32 >in.onnxtxt
names() { sed -E 's/[0-9a-f]{16}\.data/HASH.data/g'; }
copy() { qdq copy "$@" --external-data always 2>&1 | names; }
copy in.onnxtxt -o m.onnx
cp m.onnx.*.data before
mv m.onnx kept.onnx
copy in.onnxtxt -o m.onnx
cmp before m.onnx.*.data && echo "the same content is used as it is"
copy in.onnxtxt -o m.onnx
qdq check kept.onnx
side=$(ls m.onnx.*.data)
qdq copy m.onnx -o "$side" -f 2>&1 | names
qdq optimize m.onnx -o o.onnx --report "$side" -f 2>&1 | names
qdq quantize m.onnx -o o.onnx --plan-out "$side" -f 2>&1 | names
qdq check m.onnx
printf x | dd of="$side" bs=1 conv=notrunc status=none
qdq check m.onnx | names
rm m.onnx
qdq copy in.onnxtxt -o m.onnx -f --external-data always 2>&1 | names
mv before "$side"
qdq copy in.onnxtxt -o m.onnx -f --external-data always
touch m.onnx.0123456789abcdef.data
qdq copy m.onnx -o m.onnx -f -v --external-data never 2>&1 | names
qdq check kept.onnx
ls | names
mv m.onnx single.onnx
qdq copy single.onnx -o other.onnx --external-data always
qdq copy single.onnx -o other.onnx -f --external-data never
ls other*
