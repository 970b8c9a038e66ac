# A target for weights of MatMul, Gemm and Gather leaves the Conv of this model: the file
# is not smaller, and a warning says why.
qdq quantize "$MODELS/digits/digits_cnn.onnx" -o q.onnx --target int4 --no-sqnr | grep -A9 '^quantized'
