# what TensorRT executes, on a stand-in: --trtexec-args, --timing-cache, --plugin-libraries as in
# bench
touch a.so
fake=$BUILD/tests/fake_trtexec
cp "$FIXTURES/conv.onnxtxt" .
qdq inspect conv.onnxtxt --groups -e trtexec --trtexec "$fake" --trtexec-args '--warmUp=100' \
    --timing-cache cache --plugin-libraries a.so --shape image=1x2x6x6 --threads 1 \
    --ort-library none --openvino-library none | sed 's/   */  /g'
FAKE_TRTEXEC=names_only qdq inspect conv.onnxtxt --groups -e "trtexec:$fake"
echo "exit code $?"
