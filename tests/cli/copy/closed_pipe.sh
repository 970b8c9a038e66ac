# A reader that goes away is an error of one line, not a signal.
. "$FIXTURES/chain.sh"
chain 64 >m.onnxtxt
(sleep 0.3; qdq copy m.onnxtxt -o -) | true
echo "${PIPESTATUS[0]}"
(sleep 0.3; qdq copy m.onnxtxt -o m.onnx --json) | true
ls -A
