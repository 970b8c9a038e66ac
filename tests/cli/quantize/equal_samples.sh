# needs: ort
# samples that are all equal, or one value everywhere, prove nothing: a warning, and no accuracy
# that is called good; compare and autotune warn, too
npy() { # FILE SAMPLES: what stdin has becomes the numbers
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f4', 'fortran_order': False, 'shape': ($2, 1, 16, 16), }" >"$1"
    cat >>"$1"
}
cp "$MODELS/digits/digits_cnn.onnx" cnn.onnx
head -c 8192 /dev/zero | npy zeros.npy 8
for n in 1 2 3; do printf '\0\0\200\077%.0s\0\0\0\100\0\0\100\100' {1..86} | head -c 1024; done |
    npy equal.npy 3
for data in zeros equal; do
    qdq quantize cnn.onnx -o q.onnx -f --calib $data.npy --min-sqnr 0 | grep ^accuracy
    qdq quantize cnn.onnx -o q.onnx -f --calib "$MODELS/digits/digits_calib.npz" --samples 32 \
        --eval $data.npy --min-sqnr 0 | grep ^accuracy
    qdq compare cnn.onnx q.onnx --data $data.npy >/dev/null
done
qdq autotune cnn.onnx -o tuned -e "sim:$FIXTURES/sim.json" --calib equal.npy --preset quick \
    --progress never >/dev/null
echo "exit code $?"
qdq bench cnn.onnx --data zeros.npy --rounds 1 | grep -c median # only its shapes count
