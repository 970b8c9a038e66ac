# Options that do not go together, an engine that is not to be had.
m=$FIXTURES/conv.onnxtxt
qdq inspect "$m" --groups --regions; echo $?
qdq inspect "$m" --groups --why conv; echo $?
qdq inspect "$m" --engine ort; echo $?
qdq inspect "$m" --runs 3; echo $?
qdq inspect "$m" --groups --engine sim:none.json; echo $?
