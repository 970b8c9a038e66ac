# A search on this machine whose times come from another one: the same plan from the same samples,
# also where the link is interrupted or the run killed.
sim="--engine sim:$FIXTURES/sim.json --target ort-cpu --data random:2"
serve="$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
qdq autotune conv.onnx -o here $sim -q
qdq autotune conv.onnx -o there $sim -q --host "exec:$serve"
cmp here/plan.json there/plan.json && cmp here/model.onnx there/model.onnx && echo same
qdq autotune conv.onnx -o cut $sim -q --host "exec:$BUILD/tests/link_breaker state 3 10 4000 $serve"
cmp here/plan.json cut/plan.json && cmp here/model.onnx cut/model.onnx && echo same
# a link that cannot be restored ends the run, and the same command goes on with its samples
lost="test -e gone && exit 1; $BUILD/tests/link_breaker count 3 2 30000 $serve; test \$(cat count) = 1 || touch gone; # --serve"
qdq autotune conv.onnx -o lost $sim -q --host-timeout 5 --host "exec:$lost" 2>err
echo "exit $?"
sed 's/.*the link/the link/; s/, and not.*//' err
rm -f gone
qdq autotune conv.onnx -o lost $sim -q --host "exec:$serve"
cmp here/plan.json lost/plan.json && cmp here/model.onnx lost/model.onnx && echo same
