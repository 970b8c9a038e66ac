# as with VNNI
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -e sim:sim.json -o q.onnx --calib random:1 --set 'stay_float=[]' \
    --min-sqnr 300 --best-effort
code=$?
ls
exit $code
