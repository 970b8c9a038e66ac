# which type weights get depends on the processor
for cpu in avx2 vnni; do
    qdq inspect "$FIXTURES/conv.onnxtxt" --why conv1 --cpu $cpu | grep -o "weight 'w1': [a-z0-9]*"
done
