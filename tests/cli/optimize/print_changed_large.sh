# Weights are not written out.
qdq optimize "$MODELS/digits/digits_cnn_bn.onnx" -o out.onnx --print-changed 2>&1 >/dev/null |
    awk 'length > 2000 { print "a line of", length } /c_weight_folded|"c.weight/ { print }'
