# A result with --rest: the plan says the type and what is float32, and applied it gives the same
# codes and types again.
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
for rest in fp16 bf16; do
    qdq quantize conv.onnx -e sim:sim.json --rest $rest --rest-keep Softmax -q --no-sqnr -f \
        -o q.onnx >/dev/null
    qdq import q.onnx -q -f -o plan.json
    grep '"rest"' plan.json
    qdq strip q.onnx -q -f -o float.onnx >/dev/null
    qdq quantize float.onnx --plan plan.json -q -f -o again.onnx >/dev/null
    for model in q again; do
        qdq import $model.onnx -q -f -o $model.json
        qdq copy $model.onnx -q -f -o $model.onnxtxt
        grep -o 'int.*_quantized = .*}' $model.onnxtxt | sort >$model.codes
        grep -c Cast $model.onnxtxt
    done
    cmp q.json again.json && cmp q.codes again.codes && wc -l <q.codes
done
