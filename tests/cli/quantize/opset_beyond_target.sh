# A model of an opset that the target was not measured on is quantized, with a warning.
printf '<ir_version: 10, opset_import: ["" : 22]>\ng (float[1,4] x) => (float[1,4] y) {\n  y = Tanh(x)\n}\n' >tanh.onnxtxt
printf '{"qdq_sim": 1, "default": {"float_us": 2}}' >sim.json
qdq quantize tanh.onnxtxt -o q.onnx --engine sim:sim.json >/dev/null
