qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq compare conv.onnx conv.onnx --data random:1 --ort-library /nonexistent/libonnxruntime.so
