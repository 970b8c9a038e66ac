# a trial that failed is told with its fault
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
tune() { # tune MESSAGE
    rm -rf tuned
    sed "s|\"qdq_sim\": 1,|&\n\"fail\": [{\"at\": \"open\", \"node\": \"conv1\", \"message\": \"$1\"}],|" "$FIXTURES/sim.json" >sim.json
    qdq autotune conv.onnx -o tuned -e sim:sim.json --progress never --trials 2 | grep '^failed'
    grep -c '"fault": "model"' tuned/report.json
    grep -c '"fault": "machine"' tuned/report.json
}
tune "no kernel for conv1"
tune "trtexec says FAILED (runtime): the device is gone"
