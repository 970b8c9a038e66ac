# A run takes the samples of a merged store; another store is as it was.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
t() { qdq autotune conv.onnx -e sim:sim.json --trials 3 "$@" --json | grep '"\(resumed\|pairs\)"'; }
t -o a >first
qdq stores a/tune.db -o all.db
qdq stores a/tune.db -o all.db --json
cp all.db before.db
t -o b --store all.db >second
cmp first second
echo "mistakes"
qdq stores a/tune.db
qdq stores -o all.db
qdq stores all.db -o all.db
qdq stores sim.json -o new.db
qdq stores missing.db -o new.db
ls new.db 2>/dev/null
true
