qdq engines --json --ort-library /nonexistent/libonnxruntime.so
