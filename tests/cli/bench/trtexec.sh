# times, versions and options through the stand-in
fake=$BUILD/tests/fake_trtexec
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq bench conv.onnx -e trtexec --trtexec "$fake" --rounds 2 --warmup 1
touch a.so b.so
qdq bench conv.onnx -e "trtexec:$fake" --timing-cache timing.cache --plugin-libraries a.so,b.so \
    --rounds 1 --warmup 1 | tail -1
ls timing.cache
FAKE_TRTEXEC_VERSION=8601 qdq bench conv.onnx -e "trtexec:$fake" --rounds 1 --warmup 1 | head -1
qdq bench conv.onnx -e "trtexec:$fake" --trtexec-args '--noSuch' --rounds 1
echo "exit code $?"
FAKE_TRTEXEC_VERSION=110000 qdq bench conv.onnx -e "trtexec:$fake" --trtexec-args '--fp16' \
    --rounds 1
echo "exit code $?"
qdq bench conv.onnx -e "trtexec:$fake" --trtexec-args '--onnx=other' --rounds 1
echo "exit code $?"
FAKE_TRTEXEC=no_kernel qdq bench conv.onnx -e "trtexec:$fake" --rounds 1
echo "exit code $?"
qdq bench conv.onnx -e trtexec --trtexec ./none --rounds 1
echo "exit code $?"
