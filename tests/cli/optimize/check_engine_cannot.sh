# needs: ort
# The engine has no operators of my.domain: nothing can be said about what the passes did.
sed 's/"" : 17/"" : 17, "my.domain" : 1/' "$FIXTURES/unimported.onnxtxt" >custom.onnxtxt
qdq optimize custom.onnxtxt -o out.onnx --check random:1 2>&1
code=$?
ls
exit $code
