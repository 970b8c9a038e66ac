# The model that is tuned, measured and shipped has the shape.
cp "$FIXTURES/open.onnxtxt" "$FIXTURES/sim.json" .
qdq autotune open.onnxtxt -o d -e sim:sim.json --set-shape x=3x2x2 --calib random:1 --trials 3 \
    --min-sqnr 0 --progress never | grep "^input '"
qdq inspect d/model.onnx --json | tr -d '\n ' | grep -o '"inputs":.*"outputs"'
tr -d '\n ' <d/report.json | grep -o '"set_shape":[^}]*}'
grep -o 'Input .[^ ]* was set to [0-9x]*' d/report.html
qdq autotune open.onnxtxt -o e -e sim:sim.json --set-shape y=3x2x2 --calib random:1 --progress never
