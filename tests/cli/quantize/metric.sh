# --metric-command: layers go back until the program's number is high enough; the plan that is
# written, a plan that is given, and what the result tells of the metric
. "$FIXTURES/chain.sh"
chain 6 >m.onnxtxt
cp "$FIXTURES/sim.json" .
cat >metric <<'END'
#!/bin/bash
# that of --base, and one less for each QuantizeLinear and each name of one: five for a layer
[ "$1" = --base ] || exit 4
echo "a word on stderr" >&2
echo "a word before the number"
echo "$(($2 - $(grep -ao QuantizeLinear "$3" | wc -l)))"
echo
END
chmod +x metric
small=(--set 'stay_float=[]') # the matrices are small
quantize() {                  # quantize OPTION...
    qdq quantize m.onnxtxt -e sim:sim.json -o q.onnx -f --calib random:3 \
        --metric-command './metric --base 40' "$@"
    echo "-> $?"
}
count() { echo "$(grep -ao QuantizeLinear q.onnx | wc -l) in $1"; }
show() {
    sed -n '/^  "metric"/,/}/p; s/.*"reached": /reached /p' out.json
    grep -m 1 '^ *"metric": [0-9]' out.json
}
quantize "${small[@]}" --max-drop 12 --json >out.json
count "what may lose 12"
show
quantize "${small[@]}" --min-metric 28 |
    awk '/^metric/ || /^->/; !held && /missed$|holds$/ {print $4, $6; held = $6 == "holds"}'
count "what may have 28"
quantize "${small[@]}" --min-metric 40 -q # the float model alone reaches it
quantize "${small[@]}" --min-metric 40 --best-effort >/dev/null
count "what came nearest"
quantize "${small[@]}" --min-metric 41 -v 2>&1 | grep -o 'warning: metric.*'
echo "a plan that is given"
qdq quantize m.onnxtxt -e sim:sim.json "${small[@]}" --calib random:3 --dry-run --json >plan.json
quantize --plan plan.json --max-drop 30 | grep '^metric\|->'
quantize --plan plan.json --max-drop 29 | grep '^metric\|->'
quantize --plan plan.json --min-metric 11 | grep '^metric\|->'
quantize --plan plan.json --min-metric 10 --json | grep -A4 '"metric"'
echo "with the report"
quantize "${small[@]}" --min-metric 28 --report page.html >/dev/null
grep -o 'of the input 40; ./metric --base 40' page.html | head -n 1
ls
