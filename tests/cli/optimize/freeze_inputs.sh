# Without the option the caller may give the factor: it is computed with, but not computed from.
for option in --no-freeze-inputs --freeze-inputs; do
    qdq optimize "$FIXTURES/scale.onnxtxt" -o out.onnxtxt -f -p fold-constants,drop-unused $option \
        >/dev/null
    sed 1d out.onnxtxt
done
