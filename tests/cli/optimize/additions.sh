# needs: ort
# a provider that the library does not have, and a library with operators that is not there
cp "$FIXTURES/conv.onnxtxt" .
qdq optimize conv.onnxtxt -o o.onnx --check random:1 -q --provider Abacus:beads=10 2>why.txt
echo "exit code $?"
grep -o "has no provider 'Abacus'" why.txt
qdq optimize conv.onnxtxt -o o.onnx --check random:1 -q --plugin-libraries none.so
echo "exit code $?"
