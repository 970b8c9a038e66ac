# where codes are slower than floats, the model stays as it is: a result, not a failure, and the
# last line says so
cp "$FIXTURES/conv.onnxtxt" .
sed 's/"int8_us": [0-9]*/"int8_us": 500/g' "$FIXTURES/sim.json" >slow.json
qdq copy conv.onnxtxt -o conv.onnx
for mode in region subgraph; do
    qdq autotune conv.onnx -o $mode -e sim:slow.json --mode $mode --progress never >out.txt
    echo "$mode -> $?"
    tail -1 out.txt
    cmp $mode/model.onnx $mode/baseline.onnx && ! grep -q QuantizeLinear $mode/model.onnx &&
        echo 'without Q/DQ'
done
