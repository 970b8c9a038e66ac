qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt --passes drop-identity,fold-batchnorm \
    --target ort-cpu --json |
    sed "s|$FIXTURES/||; s/\"seconds\": [0-9.e-]*/\"seconds\": T/"
