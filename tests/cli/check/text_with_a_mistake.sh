printf "g (float[1] x) => (float[1] y) {\n  y = Relu(x\n}\n" >m.onnxtxt
qdq check m.onnxtxt
