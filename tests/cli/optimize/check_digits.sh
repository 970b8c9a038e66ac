# needs: ort
for model in cnn_bn convnext vit qat_bn; do
    qdq optimize "$MODELS/digits/digits_$model.onnx" -o out.onnx -f \
        --check "$MODELS/digits/digits_test.npz" -n 40 \
        --verify-each | grep ^against || echo "digits_$model is not the same"
done
