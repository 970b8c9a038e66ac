qdq check "$(printf "bad\tname\n.onnx")"
