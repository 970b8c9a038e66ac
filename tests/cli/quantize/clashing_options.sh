try() {
    qdq quantize m.onnx -o q.onnx "$@"
    echo "$* -> $?"
}
try --plan p --exclude a
try --plan p --op-types Conv
try --plan p --include a
try --plan p --exclude-op-types Conv
try --plan p --no-optimize
try --plan p --target ort-cpu
try --force-plan
try --no-sqnr --min-sqnr 3
try --dry-run --min-sqnr 3
try --plan p --min-sqnr 3
try --plan-out q.onnx
try --plan-out no/where/plan.json
