# needs: ort
# a provider that the library does not have, and a library with operators that is not there
cp "$FIXTURES/conv.onnxtxt" .
qdq quantize conv.onnxtxt -o q.onnx -q --provider Abacus:beads=10 2>why.txt
echo "exit code $?"
grep -o "has no provider 'Abacus'" why.txt
qdq quantize conv.onnxtxt -o q.onnx -q --plugin-libraries none.so
echo "exit code $?"
