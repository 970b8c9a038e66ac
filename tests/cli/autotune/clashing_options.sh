# what does not go together is said before a model is read
try() {
    qdq autotune "$@"
    echo "$* -> $?"
}
try
try m.onnx
try m.onnx n.onnx -o tuned
try m.onnx --status tuned
try --status tuned -o tuned
try m.onnx -o tuned --type int8 --format int8
try m.onnx -o tuned --no-sqnr --min-sqnr 30
try m.onnx -o tuned --no-sqnr --eval random:1
try m.onnx -o tuned --labels y
try m.onnx -o tuned --plan p.json
try m.onnx -o tuned --plan-out p.json
try m.onnx -o tuned --dry-run
try m.onnx -o tuned --why conv
try m.onnx -o tuned --best-effort --min-sqnr 30 # the model as it came misses no goal
try m.onnx -o tuned --autotune
try m.onnx -o tuned --symmetric --asymmetric
ls
