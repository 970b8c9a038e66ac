# Options that do not go together, an engine that is not to be had.
m=$FIXTURES/conv.onnxtxt
qdq inspect "$m" --groups --regions; echo $?
qdq inspect "$m" --groups --why conv; echo $?
qdq inspect "$m" --engine ort; echo $?
qdq inspect "$m" --runs 3; echo $?
qdq inspect "$m" --groups --engine sim:none.json; echo $?
qdq inspect "$m" --threads 2; echo $?
qdq inspect "$m" --shape image=1x2x6x6; echo $?
qdq inspect "$m" --groups --engine ort --ort-library none.so 2>&1 | grep -o "none.so" | head -n 1
qdq inspect "$m" --groups --engine openvino --openvino-library none.so 2>&1 | grep -o "none.so" |
    head -n 1
