# needs: ort
# times of TensorRT's layers reach the search, on the stand-in: fused kernels, one layer of Myelin
# for attention, Reformat
. "$FIXTURES/mixed.sh"
fake=$BUILD/tests/fake_trtexec
mixed 3 >m.onnxtxt
tune() { # tune DIR OPTION...
    local dir=$1
    shift
    qdq autotune m.onnxtxt --target tensorrt -e "trtexec:$fake" --calib random:3 -o "$dir" --progress never "$@" \
        >"$dir.txt"
    echo "$dir: exit code $?"
    awk '/^final/ { print $1, $2, "ms" }' "$dir.txt"
}
kernels() { # kernels MODEL: of the engine's layers
    qdq inspect "$1" --groups -e "trtexec:$fake" --json >layers.json
    grep -o '"kernel": "[A-Za-z]*"' layers.json | sort | uniq -c | sed 's/^ *//'
}
echo "without Q/DQ"
kernels m.onnxtxt
grep -o '"layer": "[^"]* + [^"]*"' layers.json | head -2
grep -o '"layer": ".*ForeignNode[^"]*"' layers.json | sort -u
tune mincut --mode subgraph --strategy mincut --pareto 3
echo "what the costs of layers predict, over what was measured; and the part of conversions in it"
awk -F'[:,]' '/"pareto": / { on = 1 } on && /"ms": / { ms = $2 }
    on && /"predicted_ms": / { print ($2 / ms > 0.97 && $2 / ms < 1.03 ? "within 3 %" : $2 / ms) }' mincut/report.json
kernels mincut/model.onnx
awk -F'[:,]' \
    '/"conversions_us": / && !part { part = $2 } /"us": / && !us { us = $2 } END { print (part > 0.08 * us ? "8 %" : part / us) }' layers.json
grep -o '"tensor": "b0[^"]*"' layers.json | head -2
tune greedy --mode subgraph --strategy greedy --preset quick
grep -h -o '"apart_by": "[a-z ]*"' greedy/report.json
tune regions
echo "profiles without the nodes of layers: $(grep -l 'and profile' regions/logs/* | wc -l)"
