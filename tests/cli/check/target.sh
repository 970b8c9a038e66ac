# without figures of rules: those of the processor that runs come first
cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt --target ort-cpu >found
result=$?
sed "s/; measured: .*//" found
echo $result
qdq check partly.onnxtxt -T ort-cpu --strict >/dev/null
echo $?
qdq check partly.onnxtxt -T tensorrt
