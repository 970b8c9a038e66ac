try() {
    qdq autotune m.onnx -o tuned "$@"
    echo "$* -> $?"
}
try --preset fast
try --preset
try --mode subgraphs
try --accept maybe
try --type int4
try --region-builder guess
try --time 0
try --time 10
try --time 10x
try --time 1.5hh
try --time -3m
try --time nan
try --trials 0
try --max-builds 0
try --schemes-per-region 0
try --schemes-per-region many
try --warmup-runs 0
try --timing-runs -1
try --threads 1025
try --calib-threads 1025
try --max-region-size 0
try --min-refine-size 0
try --seed -1
try --min-gain 0
try --min-gain 60%
try --min-gain little
try --percentile 3 --method percentile
try --max-drop 2
try --pattern-cache ''
ls
