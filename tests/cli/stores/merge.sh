# as with VNNI
# A run takes the samples of a merged store, here of an engine that was faster; what is not a store
# changes nothing.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
sed 's/"float_us": 100, "int8_us": 30/"float_us": 150, "int8_us": 80/' sim.json >slower.json
t() { qdq autotune conv.onnx -q --trials 3 "$@" --json; }
t -e sim:sim.json -o a | grep -v seconds >first
qdq stores a/tune.db -o all.db
qdq stores a/tune.db -o all.db --json
t -e sim:slower.json -o b --store all.db | grep -v seconds >second
cmp first second && qdq stores all.db -o same.db
t -e sim:slower.json -o c | grep -v seconds >third
cmp -s first third || echo "its own times differ"
echo "two hosts of one kind"
qdq stores a/tune.db c/tune.db -o both.db 2>/dev/null | sed 's/ on sim-basic on [^:]*:/ on DEVICE:/'
echo "mistakes"
qdq stores a/tune.db
qdq stores -o all.db
qdq stores all.db -o all.db
qdq stores sim.json -o new.db
qdq stores missing.db -o new.db
ls new.db 2>/dev/null
true
