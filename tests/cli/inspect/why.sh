# as with VNNI
# Every rule that looked at a node or tensor, with its verdict; no engine, no data.
m="$FIXTURES/conv.onnxtxt"
for name in conv1 features pool prob; do
    echo "-- $name"
    qdq inspect "$m" --why $name
done
echo "-- another target"
qdq inspect "$m" --why image --set activation.type=int8 --set activation.symmetric=true |
    grep tensor
qdq inspect "$FIXTURES/batchnorm.onnxtxt" --why conv
qdq inspect "$m" --why pool --json | head -7
echo "-- weights alone"
qdq inspect "$m" --why gemm --format int4
qdq inspect "$m" --why gemm --per-tensor | grep weight
