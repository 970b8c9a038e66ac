# The weights are not read: a model without its side file can be inspected.
qdq copy "$FIXTURES/conv.onnxtxt" -o m.onnx --external-data always
rm -f m.onnx.data
qdq inspect m.onnx --json | grep -c '"Conv": 1'
