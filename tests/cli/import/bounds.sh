for bounds in auto leave; do
    echo "$bounds: $(qdq import "$FIXTURES/codes_end_at_0.onnxtxt" -o - --bounds "$bounds" | grep -c c_Relu)"
done
