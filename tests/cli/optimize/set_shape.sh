cp "$FIXTURES/open.onnxtxt" .
qdq optimize open.onnxtxt -o a.onnx --set-shape x=3x2x2 --json | tr -d '\n ' |
    grep -o '"set_shape":[^}]*}'
qdq inspect a.onnx --json | tr -d '\n ' | grep -o '"inputs":.*"outputs"'
qdq optimize open.onnxtxt -o c.onnx --set-shape x=3x2x2 | grep set
qdq optimize open.onnxtxt -o b.onnx --set-shape x=3x2
