# needs: ort
# a provider that the library does not have, and a library with operators that is not there
cp "$FIXTURES/conv.onnxtxt" .
qdq compare conv.onnxtxt conv.onnxtxt --data random:1 --provider Abacus:beads=10 2>why.txt
echo "exit code $?"
grep -o "has no provider 'Abacus'" why.txt
qdq compare conv.onnxtxt conv.onnxtxt --data random:1 --plugin-libraries none.so
echo "exit code $?"
