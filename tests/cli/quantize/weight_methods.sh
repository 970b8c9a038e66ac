# needs: ort
# Every method for weights gives another model; the ones that look at the outputs give better ones.
# (Without a goal there is one SQNR in the answer.)
cp "$MODELS"/digits/digits_{vit.onnx,calib.npz} .
for method in absmax mse awq-lite awq-clip awq-full gptq gptq-mse gptq-refine; do
    qdq quantize digits_vit.onnx -o $method.onnx -q --target ort-cpu-int4 --calib digits_calib.npz \
        --weight-method $method --min-sqnr 0 --json |
        sed -n 's/.*"sqnr_db": \([0-9.]*\),/\1 '$method'/p'
done >sqnr
mkdir told
qdq quantize digits_vit.onnx -o told/a.onnx --target int4 --calib digits_calib.npz --min-sqnr 0 \
    --weight-method gptq --no-bench --report told/a.json | sed -n '/^gptq/s/[0-9.]* to [0-9.]*/N to N/p'
grep -c '"accepted": true' told/a.json
rm digits_vit.onnx
md5sum ./*.onnx | cut -d ' ' -f 1 | sort -u | wc -l
awk '{ db[$2] = $1 } END { print (db["awq-clip"] > db["absmax"] + 1), (db["awq-full"] > db["absmax"] + 1),
    (db["gptq"] > db["absmax"] + 5), (db["gptq-mse"] > db["mse"] + 5),
    (db["gptq-refine"] > db["gptq-mse"] + 1) }' sqnr
for threads in 1 2 3; do
    OMP_NUM_THREADS=$threads qdq quantize "$MODELS"/digits/digits_vit.onnx -o told/$threads.onnx -q \
        --target int4 --calib digits_calib.npz --weight-method gptq-refine --samples 64 \
        --no-sqnr --no-bench -t 1
done
md5sum told/[123].onnx | cut -d ' ' -f 1 | sort -u | wc -l
# One weight: one number.
qdq quantize "$MODELS"/digits/digits_cnn.onnx -o told/one.onnx --calib digits_calib.npz \
    --format int4 --weight-method gptq --samples 32 --no-sqnr --no-bench 2>/dev/null |
    sed -n '/^gptq/s/lose [0-9.]* dB/lose N dB/p'
