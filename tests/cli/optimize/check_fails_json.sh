# needs: ort
qdq optimize "$FIXTURES/batchnorm.onnxtxt" -o out.onnx -p fold-batchnorm --check random:1 \
    --tolerance 1e-12 --json -qq |
    sed -n '/"check"/,/"samples"/p; /"files"/p' | sed 's/of [0-9.e-]*, [0-9.e-]* of/of D, R of/'
exit "${PIPESTATUS[0]}"
