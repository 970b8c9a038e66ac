# needs: ort
# Labels in a file of their own go with the samples that calibrate and judge, or with those of
# --eval; one too many is too many.
cp "$MODELS/digits/digits_cnn.onnx" "$MODELS/digits/digits_calib.npz" \
    "$MODELS/digits/digits_test.npz" .
npy() { # LABELS FILE: so many bytes, all labels are 0
    header="{'descr': '|u1', 'fortran_order': False, 'shape': ($1,), }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >"$2"
    head -c "$1" /dev/zero >>"$2"
}
try() {
    qdq quantize digits_cnn.onnx -o q.onnx -f -t 1 -n 8 --calib digits_calib.npz "$@" |
        grep ^accuracy
    echo "${PIPESTATUS[0]}"
}
npy 256 calib.npy
npy 597 test.npy
npy 257 long.npy
npy 255 short.npy
try --labels calib.npy
try --eval digits_test.npz --labels test.npy
try --eval digits_test.npz --labels digits_test.npz:label
try --labels long.npy
try --labels short.npy
try --labels test.npy
try --eval digits_test.npz --labels calib.npy
try --labels digits_test.npz:x
try --labels missing.npy
