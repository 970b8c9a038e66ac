# needs: ort
# --mode subgraph with a range of shapes: samples and times have the usual one, what is written
# stays open
fake=$BUILD/tests/fake_trtexec
m=$FIXTURES/open.onnxtxt
args="--minShapes=x:1x2x2 --optShapes=x:8x2x2 --maxShapes=x:16x2x2"
tune() { # tune MODEL DIR OPTION...
    local model=$1 dir=$2
    shift 2
    qdq autotune "$model" -o "$dir" --mode subgraph --preset quick --max-builds 7 -q "$@" \
        >/dev/null
    echo "$dir: exit code $?"
}
ends() { # the model in a folder takes what the other takes, and gives about as much
    qdq inspect "$1/model.onnx" | grep '^input'
    for n in 1 8 16; do
        qdq compare "$m" "$1/model.onnx" --data random:1 --shape x=${n}x2x2 --min-sqnr 20 -q \
            >/dev/null
        echo "$n of $1: exit code $?"
    done
}
tune "$m" ort --trtexec-args "$args"
ends ort
tune "$m" sim -e "sim:$FIXTURES/sim.json" --min-shape x=1x2x2 --opt-shape x=8x2x2 \
    --max-shape x=16x2x2
ends sim
echo "groups apart have the usual shape, too"
tune "$m" apart --strategy greedy --trtexec-args "$args"
tune "$m" apart_stand_in --strategy greedy --target tensorrt -e "trtexec:$fake" \
    --trtexec-args "--noDataTransfers $args"
grep -h -o '"apart_by": "[a-z ]*"' apart/report.json apart_stand_in/report.json
echo "a model that takes 8 alone: nothing runs another shape, samples for another engine neither"
sed 's/z, w)/z, w)\n  [same] s = Concat<axis = 1>(y, e)/; s/float\[3,4\] q)/float[3,4] q, float[8,8] s)/; s/float\[3,4\] z)/float[3,4] z, float[8,4] e)/' \
    "$m" >eight.onnxtxt
tune eight.onnxtxt one
tune eight.onnxtxt eight --trtexec-args "$args"
tune eight.onnxtxt stand_in --target tensorrt -e "trtexec:$fake" --trtexec-args "$args"
