cp "$FIXTURES/rgb.onnxtxt" "$FIXTURES/sim.json" .
mkdir photos
cp "$MODELS"/real/photos/astronaut_[12].jpg photos
qdq compare rgb.onnxtxt rgb.onnxtxt -d photos -e sim:sim.json --threads 1 --shape image=1x3x8x8 \
    --image-size 8 --mean 127 --std 128 --layout nchw --channel-order rgb
