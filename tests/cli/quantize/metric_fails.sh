# --metric-command: programs that fail, print no number, hang or are killed; options that make no
# sense
. "$FIXTURES/chain.sh"
chain 3 >m.onnxtxt
cp "$FIXTURES/sim.json" .
try() { # try OPTION...: nothing is written
    qdq quantize m.onnxtxt -e sim:sim.json -o q.onnx -q --calib random:3 --set 'stay_float=[]' "$@"
    echo "$? $*"
}
mkdir tmp
export TMPDIR=$PWD/tmp
echo "of the input model" >&2
try --max-drop 1 --metric-command ./none
try --max-drop 1 --metric-command 'echo first >&2; echo last >&2; exit 3;'
try --max-drop 1 --metric-command 'echo 3 apples #'
try --max-drop 1 --metric-command 'echo 3; echo apples #'
try --max-drop 1 --metric-command 'true'
try --max-drop 1 --metric-command 'echo nan #'
try --max-drop 1 --metric-command 'echo -inf #'
try --max-drop 1 --metric-command 'kill -9 $$ #'
try --max-drop 1 --metric-timeout 0.2 --metric-command 'echo 1; sleep 60; echo 2 #'
try --max-drop 1 --metric-command 'yes | head -c 1000000; printf "\0\001\n" #'
echo "of a quantized model" >&2
try --max-drop 1 --metric-command '! grep -aq QuantizeLinear "$1" && echo 7 #'
try --max-drop 1 --metric-command 'grep -aq QuantizeLinear "$1" && echo soup || echo 7 #'
try --max-drop 1 --metric-command 'grep -aq QuantizeLinear "$1" && kill $$; echo 7 #'
try --max-drop 1 --metric-command 'grep -aq QuantizeLinear "$1" && echo nan || echo 7 #'
qdq quantize m.onnxtxt -e sim:sim.json -o q.onnx --calib random:3 --set 'stay_float=[]' \
    --max-drop 1 --metric-command 'grep -aq QuantizeLinear "$1" && echo soup || echo 7 #' 2>&1 |
    grep -o 'warning: --metric-command.*' | sort -u
echo "options" >&2
try --metric-command 'echo 1'
try --min-metric 1
try --metric-timeout 5
try --min-metric x --metric-command 'echo 1'
try --max-drop 1% --metric-command 'echo 1'
try --max-drop -1 --metric-command 'echo 1'
try --max-drop 1 --metric-command 'echo 1' --no-sqnr
try --max-drop 1 --metric-command 'echo 1' --dry-run
TMPDIR=/nowhere try --max-drop 1 --metric-command 'echo 1'
echo "nothing is left"
ls . tmp
