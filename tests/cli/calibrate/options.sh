# Statistics of these options are those that quantize wants with the same ones, and not without.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES"/{sim.json,nine.npy} .
try() {
    qdq calibrate conv.onnx -e sim:sim.json --calib nine.npy -q -f -o all.json "$@" >/dev/null 2>err ||
        { echo "$*: $(tail -n 1 err)"; return; }
    qdq quantize conv.onnx -e sim:sim.json --cache all.json --no-sqnr -q -f -o q.onnx "$@" \
        >/dev/null 2>err || { echo "$*: with: $(tail -n 1 err)"; return; }
    qdq quantize conv.onnx -e sim:sim.json --cache all.json --no-sqnr -q -f -o q.onnx \
        >/dev/null 2>err
    echo "$*: without: $?"
}
try --activation-type int8
try --symmetric
try --asymmetric
try --pow2
try --weight-type uint8
try --weight-asymmetric
try --per-tensor
try --per-channel
try --reduce-range
try --weight-method mse
try --block-size 16
try --weights float
try --accuracy-level 4
try --tables
try --format int8
try --cpu avx2
try --target openvino
try --rest fp16 --rest-keep Softmax
try --rest fp16 --direct-io
try --equalize
try --no-fold Add
try --fold-only Mul
try --fold-input-bytes 1KiB
try --fold-output-bytes 1KiB
try --growth-budget 1KiB
try --set-shape image=1x2x6x6
try --shape image=1x2x6x6
try --memory 1MiB
try --threads 1
try --image-size 8x8
try --mean 1
try --std 1
try --layout nhwc
try --channel-order bgr
try --state y=x
try --steps 2
try --engine-timeout 60
try --host exec:
try --host-timeout 5
try --provider CUDA
try --plugin-libraries none.so
try --ort-library none.so
try --openvino-library none.so
