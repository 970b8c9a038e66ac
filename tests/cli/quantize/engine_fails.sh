qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
echo '{"qdq_sim": 1, "fail": [{"at": "run", "message": "out of abaci"}]}' >sim.json
qdq quantize conv.onnx -e sim:sim.json -o q.onnx
code=$?
ls
exit $code
