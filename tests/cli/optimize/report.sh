# The file is what --json prints.
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnxtxt --report report.json --json >printed.json
sed '/seconds/d' printed.json >a
sed '/seconds/d' report.json | cmp - a
qdq optimize "$FIXTURES/nothing.onnxtxt" -o out.onnxtxt -f --report report.json | tail -n 2 |
    sed 's/  [0-9]* /  N /'
