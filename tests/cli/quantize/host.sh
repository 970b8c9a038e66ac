# needs: ort
# Calibration on another machine gives the same model.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq quantize conv.onnx --data random:4 -o here.onnx -q
qdq quantize conv.onnx --data random:4 -o there.onnx -q --host-timeout 1m \
    --host "exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
cmp here.onnx there.onnx && echo same
