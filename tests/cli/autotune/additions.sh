# needs: ort
# a provider that the library does not have, and a library with operators that is not there
cp "$FIXTURES/conv.onnxtxt" .
qdq autotune conv.onnxtxt -o tuned -q --provider Abacus:beads=10 2>why.txt
echo "exit code $?"
grep -o "has no provider 'Abacus'" why.txt
qdq autotune conv.onnxtxt -o tuned -q --plugin-libraries none.so
echo "exit code $?"
echo "the shape that is timed"
qdq autotune conv.onnxtxt -o tuned --min-shape image=3x2x6x6 --opt-shape image=2x2x6x6 \
    --max-shape image=4x2x6x6
echo "exit code $?"
