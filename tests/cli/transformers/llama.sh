# A decoder in operators of opsets 23 to 25, of which ONNX Runtime 1.31 lacks Swish at opset 25: in
# each form under a goal of agreement, and no file for that engine has a Swish; statistics in parts.
# needs: ort
. "$FIXTURES/transformer.bash"
make small llama "0 1 12" "0 9"
known='no kernel of Swish|known up to opset 21'
every_form 0.85 0.7 2>err.txt
parts 2>>err.txt
grep -qE "$known" err.txt || echo "no warning"
grep -vE "$known" err.txt
qdq inspect m.onnx | grep -o 'Swish'
for i in q parts; do
    qdq inspect $i.onnx | grep -oE 'Swish|Attention|RMSNormalization|RotaryEmbedding' | tr '\n' ' '
    echo
done
