# needs: openvino
qdq engines openvino
QDQ_OPENVINO_LIBRARY=/nonexistent/lib.so qdq engines openvino
