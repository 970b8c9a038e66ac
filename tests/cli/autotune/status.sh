# how a run stands, wherever its samples are: running, interrupted, failed, finished; as text and as
# JSON
. "$FIXTURES/chain.sh"
chain 40 >m.onnxtxt
sed 's/"seed"/"no_profile": true, "seed"/' "$FIXTURES/sim.json" >sim.json # more to measure
state() {
    qdq autotune --status "$1" | sed -n 's/^state: //p'
    qdq autotune --status "$1" --json | sed -n 's/^ *"state": //p'
}
echo '{"qdq_sim": 1, "ops": {}, "fail": [{"at": "time", "crash": "SIGABRT", "message": "farewell"}]}' >crash.json
qdq autotune m.onnxtxt -o tuned --store samples.db -e sim:crash.json -q
echo "crash -> $?"
qdq autotune --status tuned | sed 's/[0-9.]* s$/N s/'
qdq autotune m.onnxtxt -o tuned --store samples.db -e sim:sim.json --preset extensive >out.txt \
    2>log.txt &
job=$!
for ((i = 0; i < 1000; i++)); do
    grep -q '| start' log.txt 2>/dev/null && break
    sleep 0.02
done
kill -STOP $job
state tuned
qdq autotune m.onnxtxt -o tuned -e sim:sim.json -q 2>&1 | sed 's/process [0-9]*/process N/'
{ kill -KILL $job; wait $job; } 2>/dev/null
state tuned
qdq autotune m.onnxtxt -o tuned --store samples.db -e sim:sim.json -q >/dev/null
state tuned
ls -A
for ((i = 0; i < 250; i++)); do
    compgen -G 'tuned/.work-*' >/dev/null || break
    sleep 0.02
done
ls -A tuned
mv samples.db gone.db
qdq autotune --status tuned
echo "without its store -> $?"
