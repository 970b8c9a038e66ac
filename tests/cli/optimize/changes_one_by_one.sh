qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt -p drop-identity,lift-constants -vv \
    >/dev/null
