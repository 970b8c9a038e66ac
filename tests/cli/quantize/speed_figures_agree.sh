# measures
# On a noisy machine, too, the two times of the line on speed have the ratio before them.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
sed 's/"noise": 0.01/"noise": 0.9/' "$FIXTURES/sim.json" >noisy.json
qdq targets ort-cpu | sed 's/"engine": "ort"/"engine": "sim"/' >mine.json
for samples in 8 9 10; do
    qdq quantize conv.onnx -f -o q.onnx --samples $samples -e sim:noisy.json -T mine.json -t 1 \
        --set-shape image=1x2x6x6 2>/dev/null | grep ^speed >speed.txt
    sed 's/^speed: \([0-9.]*\) .*), \([0-9.]*\) ms, was \([0-9.]*\) ms.*/\1 \2 \3/' speed.txt |
        awk '{ d = $3 / $2 / $1 - 1; print (d < 0.02 && d > -0.02 ? "agree" : $0) }'
done
