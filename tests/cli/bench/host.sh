# An engine on another machine, which is this one: the same times from sim, whatever the link does.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
sim="--engine sim:$FIXTURES/sim.json"
serve="$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq bench conv.onnx $sim >here
qdq bench conv.onnx $sim --host "exec:$serve" >there
cmp here there && tail -n 1 there
# the file is there, and travels no more
qdq bench conv.onnx $sim --host "exec:$serve --cache-limit 1K" | tail -n 1
find cache -type f | wc -l
qdq bench conv.onnx $sim --host "exec:$BUILD/tests/link_breaker state 7 8 3000 $serve" | grep -c '^conv.onnx  '
# usage
qdq bench conv.onnx $sim --host board; echo "exit $?"
qdq bench conv.onnx $sim --host-timeout 5; echo "exit $?"
qdq bench conv.onnx $sim --host exec:x --ort-library y; echo "exit $?"
qdq bench conv.onnx --engine trtexec --host exec:x --timing-cache y; echo "exit $?"
qdq bench conv.onnx $sim --host "exec:no-such-program"; echo "exit $?"
qdq bench conv.onnx $sim --host "exec:sleep 9 # --serve" --host-timeout 1; echo "exit $?"
