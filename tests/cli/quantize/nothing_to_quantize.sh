# A model without anything to quantize is written, and the warning says that nothing changed: the
# result has no speed, and nothing to measure next.
# measures
printf 'g (float[1,4] x) => (float[1,4] y) {\n  y = Tanh(x)\n}\n' >tanh.onnxtxt
printf '{"qdq_sim": 1, "default": {"float_us": 2}}' >sim.json
qdq quantize tanh.onnxtxt -o q.onnx --engine sim:sim.json --set engine=sim
