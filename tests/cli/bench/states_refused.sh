# needs: ort
cp "$FIXTURES/sum.onnxtxt" "$FIXTURES/sim.json" "$FIXTURES/decoder.onnxtxt" .
cp "$FIXTURES/rank3.npy" .
bench() { qdq bench sum.onnxtxt -e sim:sim.json --rounds 1 "$@" >out.txt || echo "exit $?"; }
bench --state t=s
bench --steps 3
bench --mask x
bench --state t --steps 3
bench --state t= --steps 3
bench --state z=s --steps 3
bench --state t=z --steps 3
bench --state t=s --state y=s --steps 3
bench --state t=s --steps 0
bench --state t=s --data random:1
bench --state t=s --data missing.npz
bench --state t=s --steps 3 --mask x
bench --state t=s --steps 3 --mask s
qdq bench decoder.onnxtxt -e sim:sim.json --state present_key=past_key \
    --state logits=past_value --steps 3 || echo "exit $?"
printf '\x93NUMPY\x01\x00\x46\x00%-69s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0, 2), }" >none.npy
bench --state t=s --data none.npy
echo "the second model has no such output"
sed 's/float\[1,2\] t/float[1,2] z/;s/t = /z = /;s/(t)/(z)/' sum.onnxtxt >other.onnxtxt
bench other.onnxtxt --state t=s --steps 3
grep '^not measured' out.txt
echo "an engine without outputs"
qdq copy sum.onnxtxt -o sum.onnx
qdq bench sum.onnx -e trtexec --trtexec "$BUILD/tests/fake_trtexec" --state t=s --steps 3 || echo "exit $?"
echo "an engine that fails at the second step, and one that dies there"
sed 's/"noise"/"fail": [{"at": "run", "nth": 2, "message": "no memory"}], "noise"/' sim.json >fails.json
qdq bench sum.onnxtxt -e sim:fails.json --rounds 1 --state t=s --steps 3 || echo "exit $?"
sed 's/"noise"/"fail": [{"at": "run", "crash": "SIGKILL"}], "noise"/' sim.json >dies.json
qdq bench sum.onnxtxt -e sim:dies.json --rounds 1 --state t=s --steps 3 || echo "exit $?"
