printf "g (float[1] x)\0" >m.onnxtxt
qdq check m.onnxtxt
