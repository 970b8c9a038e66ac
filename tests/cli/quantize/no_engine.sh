qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq quantize conv.onnx -o q.onnx --ort-library /nonexistent/libonnxruntime.so
code=$?
ls
exit $code
