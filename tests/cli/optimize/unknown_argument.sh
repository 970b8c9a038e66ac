# Before anything is read or written.
for passes in share-initializers:weight fold-constants:x drop-noop-cast:x \
    quantize-bias:int32+int16 fold-batchnorm:clip=1; do
    qdq optimize missing.onnx -o out.onnx -p $passes 2>&1
    echo $?
done
sed 's/"passes": \[/"passes": ["fold-batchnorm:clips",/' <(qdq targets ort-cpu) >mine.json
qdq optimize missing.onnx -o out.onnx -T mine.json 2>&1
