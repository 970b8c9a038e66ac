# needs: ort
# Nothing that is read is written to, there are no intermediate files (the model is
# held once: from a pipe it can be read once only), and data of an earlier run beside the output is
# replaced, wherever one stands.
mkdir in out elsewhere
qdq copy "$MODELS/digits/digits_cnn.onnx" -o in/m.onnx --external-data always
before=$(cat in/* | cksum; ls -l --time-style=full-iso in)
cd elsewhere
for round in 1 2; do
    TMPDIR=/nowhere qdq quantize ../in/m.onnx -o ../out/q.onnx -f -q --external-data always \
        --no-sqnr >/dev/null
    echo "$? $(stat -c %s ../out/q.onnx.*.data)"
done
cd ..
[ "$before" = "$(cat in/* | cksum; ls -l --time-style=full-iso in)" ] &&
    echo "the input is what it was"
ls elsewhere out | sed -E 's/[0-9a-f]{16}\.data/HASH.data/'
cd out
qdq quantize ../in/m.onnx -o file.onnx -q --external-data never --no-sqnr >/dev/null
qdq copy ../in/m.onnx -o - --external-data never |
    qdq quantize - -o pipe.onnx -q --no-sqnr >/dev/null
cmp file.onnx pipe.onnx
