try() {
    qdq inspect "$FIXTURES/conv.onnxtxt" "$@"
    echo "$* -> $?"
}
try --why conv11
try --why Conv1
try --why gem
try --why zzzzz
try --why x --dot
try --why x --target nowhere
try --why conv1 --set activation.type=x
try --target ort-cpu
try --set a=b
try --why ""
qdq inspect "$FIXTURES/batchnorm.onnxtxt" --why norm
qdq inspect "$FIXTURES/batchnorm.onnxtxt" --why same
echo $?
