# needs: ort
qdq optimize "$FIXTURES/batchnorm.onnxtxt" -p drop-identity,fold-batchnorm,drop-unused \
    --check random:1 --tolerance 1e-12 --bisect --json |
    sed "s|$FIXTURES/||; s/of [0-9.e-]*, [0-9.e-]* of/of D, R of/"
exit "${PIPESTATUS[0]}"
