echo "this is not a model" >m.onnx
qdq inspect m.onnx
