# Rows of logits of a language model have rank 3: they count where the agreement is asked for.
# needs: ort
printf 'g (float[N,3,8] x) => (float[N,3,8] y) { y = Abs(x) }' >a.onnxtxt
printf 'g (float[N,3,8] x) => (float[N,3,8] y) { t = Abs(x) y = Neg(t) }' >b.onnxtxt
printf 'g (float[N] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }' >s.onnxtxt
try() {
    echo "$*"
    qdq compare "$@" --data random:1 >out.txt
    echo "exit $?"
    sed -n '/^output/,$p' out.txt | awk '{print $1, $NF}'
}
try a.onnxtxt a.onnxtxt
try a.onnxtxt a.onnxtxt --min-agreement 1
try a.onnxtxt b.onnxtxt --min-agreement 0.01
try a.onnxtxt b.onnxtxt --min-agreement 0.01 --min-sqnr 200
try s.onnxtxt s.onnxtxt --shape x=4 --min-agreement 0.5
try a.onnxtxt a.onnxtxt --min-agreement 0
try a.onnxtxt a.onnxtxt --min-agreement 1.5
try a.onnxtxt a.onnxtxt --min-agreement x
