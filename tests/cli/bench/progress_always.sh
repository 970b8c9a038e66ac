qdq copy "$FIXTURES/linear.onnxtxt" -o linear.onnx
# rounds that take their time without the processor
sed 's/^{/{"fail": [{"at": "time", "hang": 0.002}],/' "$FIXTURES/sim.json" >sim.json

# A line written over, cleared at the end; numbers differ from run to run, and a slow
# machine also says what time is left. Rounds enough for a second update.
qdq bench linear.onnx linear.onnx -e sim:sim.json --rounds 200 --progress=always 2>&1 >out |
    tr '\r' '\n' | sed 's/[0-9][0-9:]*/N/g; s/, N left$//; s/ *$//' | sort -u
[ -s out ]
