# needs: ort
# The branches are for 4 and for 6 numbers, as those of a model for two sample rates: no engine
# loads it with either length fixed. The shapes of --data stay open, and are those of the input.
cat >rates.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
rates (float[N,T,K] x) => (float[N,T,K] y)
<float[4] four = {1, 2, 3, 4}, float[6] six = {1, 2, 3, 4, 5, 6}, float limit = {1e9}>
{
  sum = ReduceSum <keepdims = 0> (x)
  is_large = Greater(sum, limit)
  y = If <then_branch = t () => (float[N,T,K] a) { a = Add(x, four) },
          else_branch = e () => (float[N,T,K] b) { b = Add(x, six) }> (is_large)
}
END
printf '<ir_version: 8, opset_import: ["" : 17]>\nplain (float[N,T,K] x) => (float[N,T,K] y) {\n  y = Relu(x)\n}\n' >plain.onnxtxt
bench() { qdq bench "$@" --data "$FIXTURES/rank3.npy" --rounds 3; }
bench plain.onnxtxt rates.onnxtxt | grep -o 'shapes .*'
bench plain.onnxtxt rates.onnxtxt -q -q --json | grep -E '"(shapes|failed)"'
bench plain.onnxtxt | grep -o 'shapes .*'
