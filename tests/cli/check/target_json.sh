# without figures of rules: those of the processor that runs come first
cp "$FIXTURES/partly.onnxtxt" .
qdq check partly.onnxtxt --target ort-cpu --json | grep -v '"measured"'
