qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt \
    --passes lift-constants,drop-identity,fold-batchnorm,drop-unused |
    sed "s|$FIXTURES/||; s/, [0-9.e-]* s$/, T s/; s/ *[0-9.]* ms$/  T ms/"
cat out.onnxtxt
