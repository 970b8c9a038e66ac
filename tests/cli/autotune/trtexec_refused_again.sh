# needs: ort
# options that trtexec refused are known in later runs on the same engine
. "$FIXTURES/refusing.sh"
option=--exportProfile
export FAKE_TRTEXEC=refuse:$option
tune exportProfile
echo "known from the run before, also by one of another search"
tune exportProfile --seed 5 -f
tune exportProfile --strategy greedy -f
grep -h -o '"apart_by": "[a-z ]*"' exportProfile/report.json
tune exportProfile --strategy mincut -f
echo "whoever begins anew asks again"
tune exportProfile --restart
echo "several at once"
export FAKE_TRTEXEC=refuse:--exportProfile,refuse:--maxAuxStreams,refuse:--useSpinWait
tune several
