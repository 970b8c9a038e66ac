# A mistake in a copy of a target is shown with line, key, and what was expected.
try() { # sed script
    qdq targets ort-cpu | sed "$1" >t.json
    qdq targets t.json >/dev/null
    echo $?
}
try '0,/"kind": "linear"/s//"kind": "linaer"/'
try 's/"min_opset": 13/"min_opset": "13"/'
try 's/"bias": {/"baias": {/'
try '0,/"rule": "gemm"/s//"rule": 7/'
try '0,/, "rule": "gemm"/s///'
