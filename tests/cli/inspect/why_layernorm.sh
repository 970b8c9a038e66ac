# The input of LayerNormalization on tensorrt: behind a convolution, behind a mean, and as the user
# wants it.
m="$MODELS"/digits/digits_convnext.onnx
qdq inspect "$m" --target tensorrt --why /b/b.0/ln/LayerNormalization
qdq inspect "$m" --target tensorrt --why /n/LayerNormalization
qdq inspect "$m" --target tensorrt --why /n/LayerNormalization --set layernorm-input=any
