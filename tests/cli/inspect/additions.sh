# needs: ort
# a provider that the library does not have, and a library with operators that is not there
cp "$FIXTURES/conv.onnxtxt" .
qdq inspect conv.onnxtxt --groups --provider Abacus:beads=10 2>why.txt
echo "exit code $?"
grep -o "has no provider 'Abacus'" why.txt
qdq inspect conv.onnxtxt --groups --plugin-libraries none.so
echo "exit code $?"
echo "the shape that is timed"
cp "$FIXTURES/sim.json" .
qdq inspect conv.onnxtxt --groups -e sim:sim.json --min-shape image=1x2x6x6 \
    --opt-shape image=2x2x6x6 --max-shape image=4x2x6x6 --json | grep -c '"layer"'
qdq inspect conv.onnxtxt --groups -e sim:sim.json --opt-shape image=2x3x6x6
echo "exit code $?"
