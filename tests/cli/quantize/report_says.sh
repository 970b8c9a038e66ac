# The page says what the numbers rest on, whether the engine computes the model, and which shapes
# were set.
cp "$FIXTURES/conv.onnxtxt" "$FIXTURES/nine.npy" .
echo '{"qdq_sim": 1, "ops": {"Conv": {"float_us": 100, "int8_us": 30, "inputs": 2}}}' >sim.json
qdq quantize conv.onnxtxt --calib nine.npy --engine sim:sim.json --set engine=sim \
    --set-shape image=1x2x6x6 -o a.onnx --report a.html -q >/dev/null
grep \
    -o \
    'on [0-9]* samples, cross-validated\|engine sim 1 computes what the model says[^<]*\|Input &#39;image[^<]*\|Input .image[^<]*' a.html
qdq quantize conv.onnxtxt --calib nine.npy --engine sim:sim.json --set engine=sim --min-sqnr 0 \
    -o b.onnx --report b.html -q >/dev/null
grep -o 'on [0-9]* [a-z ]*held out\|Input .image[^<]*' b.html
sed 's|"ops"|"error": 0.003, "ops"|' sim.json >noisy.json
for own in '' '--set engine=sim'; do
    # shellcheck disable=SC2086
    qdq quantize conv.onnxtxt --calib nine.npy --engine sim:noisy.json $own --min-sqnr 100 \
        --best-effort -f -o c.onnx --report c.html -q >/dev/null 2>&1
    grep -o "Time is a share [^.]*" c.html
done
