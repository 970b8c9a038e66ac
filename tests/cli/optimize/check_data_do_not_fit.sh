# needs: ort
# Data have types and shapes of inputs; what does not fit is said before anything runs.
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --check "$FIXTURES/rank3.npy" 2>&1 |
    sed "s|$FIXTURES/||"
code=${PIPESTATUS[0]}
ls
exit $code
