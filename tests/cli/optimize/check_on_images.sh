# needs: ort
# Options of data as elsewhere.
qdq optimize "$FIXTURES/rgb.onnxtxt" -o out.onnx --check "$MODELS/real/photos" -n 2 \
    --image-size 8x8 --mean 127 --std 128 \
    --layout nchw --channel-order bgr | sed -n '/^against/p'
