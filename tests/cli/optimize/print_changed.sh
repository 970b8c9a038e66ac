qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt -p drop-identity,lift-constants \
    --print-changed --verify-each >/dev/null
