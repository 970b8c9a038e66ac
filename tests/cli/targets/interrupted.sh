# Ctrl-C while rules are measured: exit 130, and the probes that were done are in the file
set -m # a job of its own hears of Ctrl-C
cat >cost.json <<END
{"qdq_sim": 1, "default": {"float_us": 10}, "convert": {"float_us": 1},
 "ops": {"Conv": {"float_us": 100, "int8_us": 10}},
 "fail": [{"at": "time", "node": "Conv@a", "hang": 600}]}
END
mkdir tmp
TMPDIR=$PWD/tmp qdq targets "$FIXTURES/probes.json" --measure -o my.json -e sim:cost.json >out.txt \
    2>log.txt &
job=$!
# files of the control, of the first probe, and of the second one, which hangs
for ((i = 0; i < 1500; i++)); do
    [ -n "$(find tmp -name 5.onnx)" ] && break
    sleep 0.02
done
kill -INT $job
wait $job
echo "exit code $?"
cat log.txt
sed 's,^/.*/,,; s/ on sim 1, .* in [0-9]* s/ on sim 1, PROCESSOR: 1 probes in N s/' out.txt
grep -c '"verdict"' my.json
ls tmp
