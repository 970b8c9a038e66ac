# needs: ort
# Placed by the rules from ONNX Runtime's sources for ARM64: all activations are int8, and names and
# reasons of rules say that they were not measured. The numbers are right on this machine, too.
cp "$MODELS"/digits/digits_{cnn,convnext}.onnx "$MODELS"/digits/digits_{calib,test}.npz .
for name in cnn convnext; do
    qdq quantize digits_$name.onnx -o $name.onnx --target ort-arm --calib digits_calib.npz \
        --samples 32 --no-sqnr --plan-out $name.json |
        sed -n '/^quantized/,/^$/p'
    echo "activations: $(grep -o '"type": "[a-z0-9]*", "scale"' $name.json | sort -u | tr '\n' ' ')"
    grep -oE '"(rule|reason)": "[^"]*"' $name.json | sort -u
    qdq compare digits_$name.onnx $name.onnx --data digits_test.npz --labels label --samples 64 \
        --min-sqnr 25 -q >/dev/null
    echo "exit $?"
    qdq check $name.onnx --target ort-arm --strict
done
qdq inspect digits_cnn.onnx --target ort-arm --why /c/Conv
# the target for both kinds of processors stays as it is, on ARM, too
qdq quantize digits_cnn.onnx --target ort-cpu --cpu arm --calib digits_calib.npz --samples 32 \
    --dry-run --json | grep -o '"type": "[a-z0-9]*", "scale"' | sort -u
