# what users send when something does not work, and how it is read again
touch a.so
fake=$BUILD/tests/fake_trtexec
qdq engines trtexec --trtexec "$fake" --self-test --output report --trtexec-args '--noSuch' \
    --timing-cache c
qdq engines trtexec --trtexec "$fake" --plugin-libraries a.so | head -2
qdq engines trtexec --trtexec "$fake" --self-test -o report
ls report | sed 's/^[0-9a-f]\{32\}/KEY/'
cat report/replay.json
qdq engines "replay:report" --self-test
qdq engines "sim:$FIXTURES/sim.json" --self-test
FAKE_TRTEXEC=no_times qdq engines trtexec --trtexec "$fake" --self-test -o other
echo "exit code $?"
qdq engines --self-test
echo "exit code $?"
