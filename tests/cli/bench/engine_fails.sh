qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
echo '{"qdq_sim": 1, "fail": [{"at": "time", "message": "out of abaci"}]}' >sim.json
qdq bench linear.onnx -e sim:sim.json
