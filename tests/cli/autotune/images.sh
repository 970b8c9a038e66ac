awk 'BEGIN {
    printf "<ir_version: 8, opset_import: [\"\" : 17]>\nrgb (float[1,3,8,8] image) => (float[1,4,8,8] y)\n<float[4,3,3,3] w = {"
    for (i = 0; i < 108; i++) printf "%s%.2f", i ? ", " : "", (i * 37 % 101 - 50) / 100
    print "}>\n{\n  [conv] c = Conv <pads = [1, 1, 1, 1]> (image, w)\n  [act] y = Relu(c)\n}"
}' >rgb.onnxtxt
cp "$FIXTURES/sim.json" .
mkdir photos
cp "$MODELS"/real/photos/astronaut_[12].jpg photos
try() {
    rm -rf tuned
    qdq autotune rgb.onnxtxt -o tuned -e sim:sim.json --progress never --calib photos "$@" | tail -1 |
        sed 's/, [0-9.]*x (.*)/, measured/'
    echo "$* -> ${PIPESTATUS[0]}"
}
try --image-size 8 --mean 127 --std 128
try --image-size 8x8 --mean 1,2,3 --std 4,5,6 --layout nchw --channel-order bgr
try --image-size 8x8 --mean 1,2
