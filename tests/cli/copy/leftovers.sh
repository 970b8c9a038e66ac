# What a killed run left goes with the next one that writes the same name; what somebody is writing
# stays.
qdq copy "$FIXTURES/conv.onnxtxt" -o m.onnx
touch .m.onnx.7b-1.tmp .m.onnx.HASH.data.7b-2.tmp .other.onnx.7b-3.tmp .m.onnx.tmp m.onnx.7b-4.tmp
touch .m.onnx.7b-5.tmp
exec 9<.m.onnx.7b-5.tmp
flock 9
qdq copy "$FIXTURES/conv.onnxtxt" -o m.onnx -f
ls -A
exec 9<&-
qdq copy "$FIXTURES/conv.onnxtxt" -o m.onnx -f
ls -A
