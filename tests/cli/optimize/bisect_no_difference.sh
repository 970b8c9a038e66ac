# needs: ort
qdq optimize "$FIXTURES/batchnorm.onnxtxt" -p drop-identity,fold-batchnorm,drop-unused \
    --check random:1 --bisect | sed "s|$FIXTURES/||"
code=${PIPESTATUS[0]}
qdq optimize "$FIXTURES/nothing.onnxtxt" -p default,-fold-constants --check random:1 --bisect \
    --json |
    sed "s|$FIXTURES/||; /passes/d"
exit $code
