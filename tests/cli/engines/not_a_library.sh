echo text >lib.so
qdq engines ort --ort-library "$PWD/lib.so" 2>&1 | sed "s|$PWD/||g"
exit "${PIPESTATUS[0]}"
