cp "$FIXTURES/rgb.onnxtxt" "$FIXTURES/sim.json" .
mkdir photos
cp "$MODELS"/real/photos/astronaut_[12].jpg photos
try() {
    qdq quantize rgb.onnxtxt -o q.onnx -f -e sim:sim.json --calib photos "$@" | sed -n '1,2p'
    echo "$* -> ${PIPESTATUS[0]}"
}
try --image-size 8x10
try --image-size 9 --mean 127 --std 128
try --image-size 8x8 --mean 1,2,3 --std 4,5,6 --layout nchw --channel-order bgr --threads 1 \
    --memory 1M
try --image-size 8x8 --channel-order rgb
try --image-size 8x8 --channel-order gray
try --image-size 8x8 --mean 1,2
try --image-size 8x8 --layout nhwc
try --shape image=1x3x6x7
try
