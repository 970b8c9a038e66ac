# needs: ort
cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt -T ort-cpu --engine ort --threads 1 --shape x=2x2x4x4 --json |
    grep -E '"(proven|kind|op|node|converted)"'
qdq check partly.onnxtxt -T ort-cpu -e ort --ort-library ./missing.so
