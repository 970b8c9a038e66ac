# needs: ort
# Batches of nothing. Data without elements is refused by name, a batch of 0 cannot be asked for; a
# model that declares one stays float and says why. Where only some samples leave nothing behind a
# Slice, the others give the range; where all do, what reads that stays float, and the rest is
# quantized.
cat >zero.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
zero (float[N,4] x) => (float[N,3] y)
<float[4,3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}> {
  h = MatMul(x, w)
  y = Relu(h)
}
M
header() { printf '\223NUMPY\1\0\166\0%-117s\n' \
    "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"; }
row() { printf "$1\0\0\200\077\0\0\0\100\0\0\200\076"; } # the first, 1, 2, 0.25
one='\0\0\200\077' two='\0\0\0\100'
q() { qdq quantize "$@" -i . -f -o q.onnx --plan-out p.json; echo "exit $?"; }
entries() { grep -oE '"(node|tensor)": "[^"]*".*"(type|reason)": "[^"]*"' p.json; }

header "0, 4" >empty.npy
q zero.onnxtxt --calib empty.npy
mkdir folder
{ header "2, 4" && row $one && row $two; } >folder/a.npy
cp empty.npy folder/b.npy
q zero.onnxtxt --calib folder
q zero.onnxtxt --calib folder/a.npy --eval empty.npy
q zero.onnxtxt --shape x=0x4
sed 's/\[N,/[0,/g' zero.onnxtxt >declared.onnxtxt
q declared.onnxtxt | grep -A4 -E '^(left|output|exit)'
entries

cat >select.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
select (float[2,4] x) => (float[K,3] y, float[2,3] z)
<float[4,3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}, float limit = {1.5}, int64 first = {0}, int64[1] start = {0}> {
  f = Gather <axis = 1> (x, first)
  keep = Greater(f, limit)
  ones = Cast <to = 7> (keep)
  end = ReduceSum(ones)
  kept = Slice(x, start, end, start)
  k = Sqrt(kept)
  y = MatMul(k, w)
  z = MatMul(x, w)
}
M
{ header "8, 4" && row $one && row $one && row $one && row $two && row $one && row $one &&
    row $one && row $one; } >some.npy
{ header "8, 4" && for i in 1 2 3 4 5 6 7 8; do row $one; done; } >none.npy
for data in some none; do
    for method in max mse moving-average entropy-compat auto; do
        echo "== $data $method"
        q select.onnxtxt --calib $data.npy --method $method --no-sqnr -q >/dev/null
        entries
    done
done
qdq compare select.onnxtxt q.onnx --data none.npy
