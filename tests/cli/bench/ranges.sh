# the range of shapes that trtexec builds for, and the shape that all engines are timed at
fake=$BUILD/tests/fake_trtexec
cat >trt.sh <<EOF
#!/bin/sh
for a in "\$@"; do case \$a in --*hapes=*) echo "\$a";; esac; done >>args.txt
exec "$fake" "\$@"
EOF
chmod +x trt.sh
qdq copy "$FIXTURES/conv.onnxtxt" -o conv.onnx
cp "$FIXTURES/sim.json" .
range="--min-shape image=1x2x6x6 --opt-shape image=8x2x6x6 --max-shape image=16x2x6x6"
qdq bench conv.onnx -e trtexec:./trt.sh,sim:sim.json $range --rounds 1 --warmup 1 |
    sed 's/  */ /g' | cut -d' ' -f1-3
sort -u args.txt
rm args.txt
qdq inspect conv.onnx --groups -e trtexec:./trt.sh $range --runs 1 --json |
    grep -c '"layer"\|"name"'
sort -u args.txt
echo "opt alone is all three, and an input with a colon in its name is quoted"
rm args.txt
sed 's/image/im:age/' "$FIXTURES/conv.onnxtxt" |
    sed 's/ im:age)/ "im:age")/; s/(im:age,/("im:age",/' >colon.onnxtxt
qdq bench colon.onnxtxt -e trtexec:./trt.sh --opt-shape im:age=8x2x6x6 --rounds 1 --warmup 1 \
    >/dev/null
sort -u args.txt
echo "what does not go together"
fails() {
    qdq bench conv.onnx -e trtexec:./trt.sh --rounds 1 "$@"
    echo "exit code $?"
}
fails --max-shape image=16x2x6x6
fails --opt-shape image=8x2x6x6 --min-shape image=9x2x6x6
fails --opt-shape image=8x2x6x6 --max-shape image=7x2x6x6
fails --opt-shape image=8x2x6x6 --max-shape image=16x2x6
fails --opt-shape image=8x2x6x6 --shape image=8x2x6x6
fails --opt-shape picture=8x2x6x6
fails --opt-shape image=8x3x6x6
fails --opt-shape image=8x2x6x6 --trtexec-args --optShapes=image:1x2x6x6
qdq inspect conv.onnx --groups -e trtexec:./trt.sh --opt-shape picture=8x2x6x6
echo "exit code $?"
qdq inspect conv.onnx --opt-shape image=8x2x6x6
echo "exit code $?"
qdq autotune conv.onnx -o tuned --opt-shape image=8x2x6x6 --max-shape image=4x2x6x6
echo "exit code $?"
