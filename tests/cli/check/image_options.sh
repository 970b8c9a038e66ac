# images judge the engine, read with the options that other commands have for them
cp "$FIXTURES"/{rgb.onnxtxt,sim.json} .
mkdir photos
cp "$MODELS"/real/photos/astronaut_1.jpg photos
qdq check rgb.onnxtxt --engine sim:sim.json --data photos --mean 127 --std 128 --layout nchw \
    --channel-order bgr --image-size 8
echo "exit $?"
