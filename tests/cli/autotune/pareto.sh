# --pareto: models from the fastest to the most accurate
. "$FIXTURES/chain.sh"
chain 12 >m.onnxtxt
sed 's/"error": 0.001/"error": 0.01/' "$FIXTURES/sim.json" >sim.json
sed 's/"qdq_sim": 1,/"qdq_sim": 1, "no_profile": true,/' sim.json >blind.json
qdq autotune m.onnxtxt -o tuned -e sim:sim.json --calib random:3 --mode subgraph --pareto 3 \
    --progress never >printed
echo "$?"
grep -c '^pareto/model_' printed
ls tuned/pareto
grep -c '"dominated": ' tuned/report.json
grep -o '<circle' tuned/report.html | wc -l
for k in 1 2 3; do
    qdq quantize m.onnxtxt -o "q$k.onnx" --plan "tuned/pareto/plan_$k.json" -e sim:sim.json -q \
        >/dev/null &&
        qdq compare "tuned/pareto/model_$k.onnx" "q$k.onnx" -e sim:sim.json --data random:1 -q \
            >/dev/null && echo "plan $k"
done
qdq autotune --status tuned --json | grep -c pareto/plan_
echo "where there is none"
qdq autotune m.onnxtxt -o no -e sim:sim.json --pareto 3
qdq autotune m.onnxtxt -o no -e sim:sim.json --mode subgraph --pareto 1
qdq autotune m.onnxtxt -o no -e sim:sim.json --mode subgraph --pareto 17
qdq autotune m.onnxtxt -o no -e sim:blind.json --mode subgraph --pareto 3 --progress never
