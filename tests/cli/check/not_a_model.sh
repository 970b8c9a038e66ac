printf "\377\377\377" >m.onnx
qdq check m.onnx
