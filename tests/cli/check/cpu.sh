# signed weights saturate on processors without VNNI, and on no others
cp "$FIXTURES"/{conv.onnxtxt,sim.json} .
qdq quantize conv.onnxtxt -o q.onnx -e sim:sim.json --cpu vnni -q >/dev/null 2>&1
for cpu in avx2 vnni; do
    echo "$cpu: $(qdq check q.onnx -T ort-cpu --cpu $cpu | grep -c saturates)"
done
