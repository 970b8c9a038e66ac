QDQ_ORT_LIBRARY=/nonexistent/lib.so qdq engines ort
