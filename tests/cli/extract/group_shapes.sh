# A range of shapes, as options or in --trtexec-args, on an engine that knows
# neither and on a stand-in for trtexec
fake=$BUILD/tests/fake_trtexec
cat >trt.sh <<EOF
#!/bin/sh
for a in "\$@"; do case \$a in --*hapes=*) echo "\$a";; esac; done >>args.txt
exec "$fake" "\$@"
EOF
chmod +x trt.sh
cp "$FIXTURES/open.onnxtxt" "$FIXTURES/sim.json" .
m=open.onnxtxt sim=sim:sim.json
range="--min-shape x=1x2x2 --opt-shape x=8x2x2 --max-shape x=16x2x2"
args="--minShapes=x:1x2x2 --optShapes=x:8x2x2 --maxShapes=x:16x2x2"
group() { # group N OPTION...
    echo "group $*"
    qdq extract "$m" --group "$@" -o group.onnx -f
    echo "exit code $?"
}
group 2 -e $sim $range
qdq inspect group.onnx | grep '^input'
echo "a sibling of fixed shape has none"
group 3 -e $sim $range
group 2 -e $sim --trtexec-args "$args" --json | tr -d ' \n' | grep -o '"inputs".*]'
echo
echo "the usual shape alone, in both spellings of trtexec; the ends alone, which trtexec completes"
group 2 -e $sim --trtexec-args --optShapes=x:8x2x2 --json | tr -d ' \n' | grep -o '"inputs".*]'
echo
group 2 -e $sim --trtexec-args --shapes=x:8x2x2 --json | tr -d ' \n' | grep -o '"inputs".*]'
echo
group 2 -e $sim --trtexec-args '--minShapes=x:1x2x2 --maxShapes=x:16x2x2'
echo "trtexec gets what the model has open, and the group's own where the group is timed"
group 2 -e trtexec:./trt.sh --trtexec-args "$args"
sort -u args.txt
rm args.txt
qdq bench group.onnx -e trtexec:./trt.sh --min-shape u=1x4 --opt-shape u=8x4 --max-shape u=16x4 \
    --rounds 1 >/dev/null
sort -u args.txt
rm args.txt
group 3 -e trtexec:./trt.sh $range >/dev/null
rm args.txt
qdq bench group.onnx -e trtexec:./trt.sh --rounds 1 >/dev/null
wc -c <args.txt
echo "what does not go together"
group 2 -e $sim --trtexec-args "--fp16 $args"
group 2 -e $sim --trtexec-args "$args" --opt-shape x=8x2x2
group 2 -e $sim --trtexec-args "$args" --shape x=8x2x2
group 2 -e $sim --trtexec-args '--optShapes=x:8x2x2 --minShapes=z:1x4'
group 2 -e $sim --trtexec-args '--optShapes=x:8x2x2 --maxShapes=x:4x2x2'
group 2 -e $sim --trtexec-args '--optShapes=x:8x2'
group 2 -e $sim --trtexec-args '--optShapes=t:8x2'
group 2 -e $sim --trtexec-args '--optShapes=x:8x2*'
group 2 -e $sim --opt-shape z=8x4
qdq inspect "$m" --groups -e $sim --trtexec-args '--warmUp=1'
echo "exit code $?"
qdq bench "$m" -e $sim --trtexec-args '--warmUp=1'
echo "exit code $?"
qdq autotune "$m" -o tuned -e $sim --mode subgraph --trtexec-args '--warmUp=1'
echo "exit code $?"
