# The model goes to stdout, what was done to stderr.
qdq optimize "$FIXTURES/untidy.onnxtxt" -p drop-identity -o - 2>said | qdq inspect - | grep nodes
grep -c 'nodes: 6, were 7' said
