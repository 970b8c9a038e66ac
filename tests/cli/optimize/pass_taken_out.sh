qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt \
    -p drop-identity,fold-batchnorm,-drop-identity --json |
    grep -e '"passes"' -e '"pass"'
