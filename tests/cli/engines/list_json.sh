qdq engines --json --ort-library /nonexistent/libonnxruntime.so \
    --openvino-library /nonexistent/libopenvino_c.so
