# Every mistake with file, line, column, key, and what was expected.
try() {
    printf "$1" >c.yaml
    qdq quantize m.onnx -o q.onnx --config c.yaml
    echo "$? $1"
}
try 'target: ort-cpu\nexclued: x\n'
try 'target: ort-cpu\nzzz: x\n'
try 'target: [a]\n'
try 'samples: many\n'
try 'samples: 0\n'
try 'samples: {a: 1}\n'
try 'sqnr: yes\n'
try 'sqnr: "true"\n'
try 'sqnr: [true]\n'
try 'verbose: -1\n'
try 'verbose: [1]\n'
try 'target:\n'
try 'target: ~\n'
try 'target: ""\n'
try 'exclude: [[a]]\n'
try 'exclude: {a: b}\n'
try 'op-types: [Conv, ""]\n'
try 'shape: {x: 1xx2}\n'
try 'shape: {x: [1, 2]}\n'
try 'mean: [1, 2, 3, 4, 5]\n'
try 'mean: [1, [2]]\n'
try 'mean: []\n'
try 'memory: lots\n'
try 'layout: HWC\n'
try 'config: other.yaml\n'
try 'help: true\n'
try '[a, b]\n'
try 'text\n'
try 'a: &x 1\n'
try 'a: *x\n'
try 'target: a\ntarget: b\n'
try 'target: [a\n'
qdq quantize m.onnx -o q.onnx --config nowhere.yaml
echo $?
qdq quantize m.onnx -o q.onnx --config .
echo $?
head -c 2000000 /dev/zero | tr '\0' '#' >c.yaml
qdq quantize m.onnx -o q.onnx --config c.yaml
echo $?
head -c 5000 /dev/zero | tr '\0' '[' >c.yaml
qdq quantize m.onnx -o q.onnx --config c.yaml
echo $?
echo 'samples: 3' >c.yaml
qdq quantize m.onnx -o q.onnx --config c.yaml --samples x
echo "the command line first: $?"
echo 'samples: x' >c.yaml
qdq quantize m.onnx -o q.onnx --config c.yaml --samples 3
echo "a mistake in what does not count: $?"
