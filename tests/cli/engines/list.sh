qdq engines --ort-library /nonexistent/libonnxruntime.so
