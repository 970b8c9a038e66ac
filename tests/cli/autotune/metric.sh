# --metric-command in a tuning run: what ships holds the metric, and the reports tell it
. "$FIXTURES/chain.sh"
chain 6 >m.onnxtxt
sed 's/"error": 0.001/"error": 0.01/' "$FIXTURES/sim.json" >sim.json
mkdir tmp
export TMPDIR=$PWD/tmp
cat >metric <<'END'
#!/bin/bash
# 40, and one less for each QuantizeLinear and each name of one
echo call >>calls
echo "$((40 - $(grep -ao QuantizeLinear "$1" | wc -l)))"
END
chmod +x metric
value() { sed -n "s/^ *\"$2\": \([^,]*\),\{0,1\}/\1/p" "$1/report.json"; }
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnxtxt -o "$dir" -e sim:sim.json --calib random:3 --progress never \
        --metric-command ./metric "$@" >"$dir.txt"
    echo "$dir $* -> $?: $(value "$dir" verdict)"
}
ships() { # ships DIR LEAST
    local n=$((40 - $(grep -ao QuantizeLinear "$1/model.onnx" | wc -l)))
    [ "$n" -lt 40 ] && [ "$n" -ge "$2" ] && echo "some in 8 bits, metric at least $2"
    [ "$n.0" = "$(value "$1" written)" ] && echo "as reported, of the input $(value "$1" input)"
}
tune free --max-drop 39
ships free 1
for mode in region subgraph; do
    tune "$mode" --mode "$mode" --min-metric 25
    ships "$mode" 25
    grep -c "metric './metric': [0-9]*, of the input 40" "$mode.txt"
done
tune none --min-metric 40
value none written
value none reason | sed 's/found [0-9]*/found N/; s/ ([0-9]* placements*)//'
echo "again"
rm calls
tune subgraph --mode subgraph --min-metric 25
[ "$(wc -l <calls)" -le 3 ] && echo "the input and what ships"
qdq autotune m.onnxtxt -o broken -e sim:sim.json --calib random:3 --progress never --max-drop 1 \
    --metric-command 'exit 3;'
echo "$?"
qdq autotune m.onnxtxt -o slow -e sim:sim.json --calib random:3 --progress never --max-drop 1 \
    --metric-timeout 0.2 --metric-command 'sleep 60 #'
echo "$?"
qdq quantize m.onnxtxt -e sim:sim.json -o q.onnx --progress never --calib random:3 --autotune \
    --metric-command ./metric --min-metric 25 | sed -n '/^metric/s/, [0-9]* / N /p'
ls tmp
