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
try --schemes-per-region 99999999999999999999
try --max-mutations 0
try --max-mutations nan
try --max-attempts -1
try --pattern-cache-distance -1
try --pattern-cache-entries 1e9
try --pool-share 0
try --pool-share nan
try --pool-share 101%
try --pool-least 0
try --warmup-runs 0
try --warmup-runs 1000001
try --timing-runs -1
try --threads 1025
try --calib-threads 1025
try --max-region-size 0
try --min-refine-size 0
try --seed -1
try --min-gain 0
try --min-gain 60%
try --min-gain little
try --min-gain nan
try --min-gain -1%
try --min-sqnr nan
try --min-sqnr -3
try --time inf
try --time 1e999h
try --memory -1
try --samples -1
try --percentile 3 --method percentile
try --max-drop 2
try --pattern-cache ''
ls
