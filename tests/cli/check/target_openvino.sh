cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt --target openvino
echo $?
