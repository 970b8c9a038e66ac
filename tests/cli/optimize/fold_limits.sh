for bad in -1 ten 99999999999999999999; do
    qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --growth-budget "$bad" 2>&1
    echo $?
done
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --fold-input-bytes 0 --fold-output-bytes 4KiB \
    --growth-budget 1M >/dev/null
