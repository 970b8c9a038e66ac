# What is written has the shape, and what is judged and measured: the file is the one that copy
# --set-shape gives, quantized.
# measures
cp "$FIXTURES/open.onnxtxt" "$FIXTURES/sim.json" .
sed -i 's/"noise": 0.01/"noise": 0/' sim.json
qdq targets ort-cpu | sed 's/"engine": "ort"/"engine": "sim"/' >mine.json
q() {
    qdq quantize "$@" -e sim:sim.json --target mine.json -t 1 --set 'stay_float=[]'
}
q open.onnxtxt -o a.onnx --set-shape x=3x2x2 --plan-out plan.json | grep -e input -e speed
qdq inspect a.onnx --json | tr -d '\n ' | grep -o '"inputs":.*"outputs"'
qdq copy open.onnxtxt -o fixed.onnx --set-shape x=3x2x2
q fixed.onnx -o b.onnx | grep speed
cmp a.onnx b.onnx && echo same
echo "== with --shape nothing is fixed in the file"
q open.onnxtxt -o c.onnx --shape x=3x2x2 | grep -e input -e speed
qdq inspect c.onnx --json | tr -d '\n ' | grep -o '"inputs":.*"outputs"'
echo "== a plan for the fixed model"
qdq quantize open.onnxtxt -o d.onnx --plan plan.json --set-shape x=3x2x2 >/dev/null &&
    cmp a.onnx d.onnx && echo same
qdq quantize open.onnxtxt -o e.onnx --plan plan.json 2>&1 | grep -o 'the plan is for another model'
echo "== what does not fit"
q open.onnxtxt -o f.onnx --set-shape y=3x2x2
q open.onnxtxt -o f.onnx --set-shape x=3x2
q open.onnxtxt -o f.onnx --set-shape x=3x2x2 --shape x=4x2x2
ls f.onnx 2>/dev/null
echo "== as JSON"
q open.onnxtxt -o g.onnx --set-shape x=3x2x2 --json | tr -d '\n ' | grep -o '"set_shape":[^}]*}'
