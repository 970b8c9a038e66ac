# findings of measured rules quote their figures
figures() { # VERDICT FACTOR
    echo "\"measured\": [{\"verdict\": \"$1\", \"factor\": $2, \"interval\": [0.5, 2], \"engine\": \"ort\", \"version\": \"1\", \"processor\": \"P\"}]"
}
cat >t.json <<END
{"qdq_target": 1, "name": "t", "engine": "ort", "graph_output": "dequantized",
 "activation": {"type": "uint8"}, "weight": {"type": "int8", "symmetric": true},
 "operators": [
   {"op": "Conv", "kind": "linear", "data": [0], "weight": 1, "axis": "0", "output": "quantized", "rule": "conv", $(figures pays 0.6)},
   {"op": "Gemm", "kind": "linear", "data": [0], "weight": 1, "rule": "gemm", "off": true, $(figures harms 1.3)}],
 "stay_float": [{"op": "Conv", "rule": "few", "in_channels_max": 2, "reason": "slow", $(figures pays 0.9)}]}
END
cat >m.onnxtxt <<END
graph (float[1,2,4,4] x, float[1,4,4,4] z, float[2,4] u) => (float[1,2,4,4] a, float[1,2,4,4] b, float[2,2] c)
<float s = {0.1}, uint8 o = {128}, int8 n = {0}, float[2,2,1,1] w = {1, 2, 3, 4}, int8[2,4,1,1] v = {1, 2, 3, 4, 5, 6, 7, 8},
 int8[4,2] g = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  xq = QuantizeLinear(x, s, o)  xd = DequantizeLinear(xq, s, o)
  [few] a = Conv(xd, w)
  zq = QuantizeLinear(z, s, o)  zd = DequantizeLinear(zq, s, o)  vd = DequantizeLinear(v, s, n)
  [conv] b = Conv(zd, vd)
  uq = QuantizeLinear(u, s, o)  ud = DequantizeLinear(uq, s, o)  gd = DequantizeLinear(g, s, n)
  [gemm] c = Gemm(ud, gd)
}
END
qdq check m.onnxtxt --target ./t.json | grep measured
qdq check m.onnxtxt --target ./t.json --json | grep '"measured"'
qdq check m.onnxtxt --target ort-cpu | grep -c "; measured: 0.* on ort 1.31.1, "
