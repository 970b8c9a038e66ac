# needs: ort
# a provider that the library does not have, and a library with operators that is not there
cp "$FIXTURES/conv.onnxtxt" .
qdq engines ort --provider Abacus:beads=10 2>why.txt
echo "exit code $?"
grep -o "has no provider 'Abacus'" why.txt
qdq engines ort --plugin-libraries none.so
echo "exit code $?"
# options for the commands of trtexec, and another engine
qdq engines sim --trtexec-args=--fp16
echo "exit code $?"
qdq engines --trtexec-args=--fp16 | grep -c '^sim'
