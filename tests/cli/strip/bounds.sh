for bounds in auto restore leave; do
    qdq strip "$FIXTURES/codes_end_at_0.onnxtxt" -o "$bounds.onnx" --bounds "$bounds"
    qdq inspect "$bounds.onnx" --json | grep -c Relu
done
true
