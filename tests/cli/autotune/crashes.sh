# as with VNNI
# What becomes of a run whose candidates end the engine's process, or keep it busy beyond the
# budget.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
fail() { sed "s/^{/{\"fail\": [$1],/" "$FIXTURES/sim.json" >sim.json; }
try() {
    qdq autotune conv.onnx -o run -f --restart --engine sim:sim.json --calib random:4 "$@" \
        >out.txt 2>&1
    echo "exit code $?"
    grep -E "candidates|search incomplete|^result:" out.txt |
        sed -E 's/[0-9.]+x \(95 %: [0-9.]+ to [0-9.]+\)/Nx/'
    grep -E '^ {2,4}"(why|tried|crashed|verdict|budget_used_up)"' run/report.json
    grep -c "nan" run/report.html
    rm -r run
}
echo "every candidate"
fail '{"at": "open", "node": "conv1", "crash": "SIGSEGV"}, {"at": "open", "node": "gemm", "crash": "SIGSEGV"}'
try
echo "some of them"
fail '{"at": "open", "node": "gemm", "crash": "SIGABRT"}'
try
echo "a process that stands still costs no more than the budget"
fail '{"at": "time", "node": "conv1", "hang": 1000}, {"at": "time", "node": "gemm", "hang": 1000}'
start=$SECONDS
try --time 3s
echo "late: $((SECONDS - start > 8))"
echo "schemes of greedy, measured apart, are among them"
. "$FIXTURES/chain.sh"
chain 4 >chain.onnxtxt
qdq copy chain.onnxtxt -o conv.onnx -f
fail '{"at": "open", "node": "fc1", "crash": "SIGSEGV"}], "no_profile": true, "wrong": ['
try --mode subgraph --strategy greedy
