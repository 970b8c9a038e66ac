sed 's/float s = {0.5}/float s = {0}/' "$FIXTURES/partly.onnxtxt" >zero.onnxtxt
qdq check zero.onnxtxt -T ort-cpu
