# needs: ort
# ONNX Runtime has groups for the usual shape, and what is written keeps
# its open dimensions
m=$FIXTURES/open.onnxtxt
args="--minShapes=x:1x2x2 --optShapes=x:8x2x2 --maxShapes=x:16x2x2"
qdq inspect "$m" --groups --trtexec-args "$args" --json | grep -c '"layer"'
qdq extract "$m" --group 2 --trtexec-args "$args" -o group.onnx
qdq extract "$m" --group 2 --min-shape x=1x2x2 --opt-shape x=8x2x2 --max-shape x=16x2x2 -o same.onnx
cmp group.onnx same.onnx && echo the same
qdq inspect group.onnx | grep '^input'
echo "what takes 8 alone is timed with 8"
sed 's/z, w)/z, w)\n  [same] s = Concat<axis = 1>(y, e)/; s/float\[3,4\] q)/float[3,4] q, float[8,8] s)/; s/float\[3,4\] z)/float[3,4] z, float[8,4] e)/' \
    "$m" >eight.onnxtxt
qdq extract eight.onnxtxt --group 4 --trtexec-args --optShapes=x:8x2x2 -o eight.onnx
qdq bench eight.onnx --min-shape y=1x4 --opt-shape y=8x4 --max-shape y=16x4 --rounds 2 -q >/dev/null
echo "exit code $?"
qdq bench eight.onnx --rounds 2 -q >/dev/null 2>&1
echo "with 1: exit code $?"
echo "a sibling of fixed shape has none"
qdq extract "$m" --group 3 --trtexec-args "$args" -o side.onnx
