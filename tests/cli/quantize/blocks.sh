# needs: ort
# ONNX Runtime loads 8-bit activations in front of 8-bit weights in blocks, and fails when it runs
# them. Without its optimizations it does not (no layer may go back to float for a goal): that is
# how the result is checked, compared and timed, and each says so.
cp "$MODELS/digits/digits_vit.onnx" vit.onnx
cp "$MODELS/digits/digits_calib.npz" calib.npz
qdq quantize vit.onnx -o q.onnx --calib calib.npz --samples 16 --block-size 32 --min-sqnr 0 |
    grep -A 1 '^output'
qdq compare vit.onnx q.onnx --data calib.npz --samples 3 | grep -A 1 '^output'
qdq bench q.onnx --rounds 3 | grep '^q.onnx'
qdq bench q.onnx --rounds 3 --json | grep unoptimized
