# needs: ort
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx -p drop-identity --check random:1 \
    --shape image=2x2x6x6 --json |
    sed -n '/"check"/,$p'
