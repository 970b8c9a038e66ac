# needs: ort
# options that trtexec refuses: each is tried once, and told once
. "$FIXTURES/refusing.sh"
for option in --exportProfile --exportLayerInfo --profilingVerbosity --timingCacheFile \
    --maxAuxStreams --separateProfileRun \
    --exportTimes --useCudaGraph; do
    export FAKE_TRTEXEC=refuse:$option
    tune "${option#--}"
done
option=--exportProfile
export FAKE_TRTEXEC=refuse:$option
echo "layers have their nodes, and no times"
qdq inspect m.onnxtxt --groups -e "trtexec:$fake" --json | grep -c '"us": null'
grep -c '"by": "exact"' exportProfile/model.fp32.graph.json
