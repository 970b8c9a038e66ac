# every option of the tuner is a key; the command line wins
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
cat >tune.yaml <<'END'
engine: sim:sim.json
output: tuned
preset: quick
mode: region
schemes-per-region: 3
time: 10m
max-mutations: 2
max-attempts: 10
pattern-cache-distance: 2
pattern-cache-entries: 8
pool-share: 20%
pool-least: 5
trials: 100
max-builds: 50
min-gain: 0.5%
accept: strict
seed: 4
type: int8
region-builder: structure
max-region-size: 5
min-refine-size: 5
warmup-runs: 3
timing-runs: 2
threads: 1
calib-threads: 1
keep-models: true
restart: false
exclude: ["^gemm"]
quiet: 0
progress: never
END
qdq autotune conv.onnx --config tune.yaml | tail -1 | sed 's/, [0-9.]*x (.*)/, measured/'
ls tuned
qdq autotune conv.onnx --config tune.yaml | grep "earlier run"
qdq autotune conv.onnx --config tune.yaml -o other | tail -1 | sed 's/, [0-9.]*x (.*)/, measured/'
head -2 tuned/patterns.yaml
qdq autotune conv.onnx --config tune.yaml --seed 5 -f | grep "earlier run"
try() {
    echo "$1" >wrong.yaml
    qdq autotune conv.onnx -o wrong --config wrong.yaml
    echo "$1 -> $?"
}
try 'preset: fast'
try 'time: soon'
try 'trial: 3'
try 'restart: 1'
try 'pattern-cache: {a: b}'
try 'pool-share: -1%'
try 'pool-share: .nan'
try 'max-mutations: 2.5'
try 'pattern-cache-distance: true'
