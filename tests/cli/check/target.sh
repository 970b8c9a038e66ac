cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt --target ort-cpu
echo $?
qdq check partly.onnxtxt -T ort-cpu --strict >/dev/null
echo $?
qdq check partly.onnxtxt -T tensorrt
