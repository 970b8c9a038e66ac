echo old >out.onnxtxt
qdq optimize "$FIXTURES/nothing.onnxtxt" -o out.onnxtxt -f >/dev/null
cat out.onnxtxt
