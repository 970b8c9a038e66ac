# The same option in all its forms; the last one counts; options stand anywhere; -- ends them.
cp "$FIXTURES/linear.onnxtxt" .
qdq copy linear.onnxtxt -o a.onnx
qdq copy linear.onnxtxt -ob.onnx
qdq copy -o c.onnx linear.onnxtxt
qdq copy -o=never.onnx linear.onnxtxt
qdq copy --output d.onnx linear.onnxtxt
qdq copy --output=e.onnx -- linear.onnxtxt
qdq copy -fo a.onnx linear.onnxtxt
qdq copy -o never.onnx linear.onnxtxt -o f.onnx
qdq copy -vvqf linear.onnxtxt -o a.onnx
cp linear.onnxtxt ./--force.onnxtxt
qdq copy -o g.onnx -- --force.onnxtxt
ls
cmp a.onnx g.onnx
qdq copy linear.onnxtxt -o a.onnx --force --no-force
