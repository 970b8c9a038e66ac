# needs: ort
qdq optimize "$FIXTURES/batchnorm.onnxtxt" -p drop-identity,fold-batchnorm,drop-unused \
    --check random:1 --tolerance 1e-12 --bisect |
    sed "s|$FIXTURES/||; s/of [0-9.e-]*, [0-9.e-]* of/of D, R of/"
code=${PIPESTATUS[0]}
ls
exit $code
