qdq optimize "$FIXTURES/linear.onnxtxt" -o out.onnx --engine sim:"$FIXTURES/sim.json" \
    --check random:1 | sed -n '/^against/,$p'
