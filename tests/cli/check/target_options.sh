# without figures of rules: those of the processor that runs come first
cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt --set activation.symmetric=true
qdq check partly.onnxtxt --data random:1
qdq check partly.onnxtxt --shape x=1x2x4x4
qdq check partly.onnxtxt -T nowhere
{
    qdq check partly.onnxtxt -T ort-cpu -e "sim:$FIXTURES/sim.json"
    qdq check partly.onnxtxt -T ort-cpu --set bias.type=float
} | sed "s/; measured: .*//"
