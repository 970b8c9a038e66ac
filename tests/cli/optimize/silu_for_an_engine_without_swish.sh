# A pass that makes what the target's engine cannot run, or what another pass takes apart again.
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --target ort-cpu --passes default,fuse-silu
echo "exit $?"
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --target int4 --passes fuse-silu
echo "exit $?"
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --passes fuse-silu,lower-swish
echo "exit $?"
qdq optimize "$FIXTURES/untidy.onnxtxt" -o out.onnx --target openvino --passes default,fuse-silu >/dev/null
echo "exit $?"
ls out.onnx
