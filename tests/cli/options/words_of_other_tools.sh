# Options and names that users of other tools try first.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
qdq quantize conv.onnx -o q.onnx --fp16
qdq quantize conv.onnx -o q.onnx --int4
qdq copy conv.onnx -o q.onnx --fp16
qdq quantize conv.onnx -o q.onnx -T ort
qdq quantize conv.onnx -o q.onnx -T onnxruntime
qdq bench conv.onnx -e tensorrt
qdq bench conv.onnx -e onnxruntime
qdq bench conv.onnx -e opnvino
qdq quantize conv.onnx -o q.onnx -e sim:sim.json --data random:2 | head -1
qdq compare conv.onnx conv.onnx -e sim:sim.json --calib random:2 | head -1
qdq inspect conv.onnx --calib random:2
echo '# Notes' >README.md
qdq inspect README.md
