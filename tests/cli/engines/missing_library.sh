qdq engines ort --ort-library /nonexistent/libonnxruntime.so
