#!/bin/bash
# placement.sh SOURCE BUILD - the commands of examples/placement/README.md work as they stand:
# blocks marked `run` on ONNX Runtime,
# `run-openvino` where OpenVINO is, `run-trtexec` on the stand-in; what they leave in their folders
# is in its table.
# ResNet-50 is the skeleton with filled weights, at a batch of 2: 128 takes too long for a test.
set -uo pipefail
source=$(realpath "$1")
readme=$source/examples/placement/README.md
build=$(realpath "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/qdq-placement-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for program in qdq qdq-worker; do
    ln -s "$build/$program" "$work/bin/$program"
done
ln -s "$build/tests/fake_trtexec" "$work/bin/trtexec"
export PATH=$work/bin:$PATH
ln -s "$(realpath "$1/examples")" "$work/examples"
ln -s examples/ultraface/photos "$work/photos"
cd "$work" || exit 1
status=0 skipped=0

has() { # has ENGINE
    qdq engines "$1" >/dev/null 2>&1 && return 0
    echo "SKIPPED: commands for $1, which is missing" >&2
    [ "${QDQ_TEST_REQUIRE:-}" = 1 ] && status=1
    skipped=1
    return 1
}

run() { # run MARK: each line of the blocks with it
    local line n=0
    while IFS= read -r line; do
        n=$((n + 1))
        if ! bash -c "$line" >out.txt 2>err.txt </dev/null; then
            echo "placement: fails: $line" >&2
            cat out.txt err.txt >&2
            status=1
        fi
    done < <(awk -v mark="\`\`\`sh $1" '$0 == mark {on = 1; next} /^```/ {on = 0} on && NF' \
        "$readme")
    if [ $n -eq 0 ]; then
        echo "placement: no block is marked '$1'" >&2
        status=1
    fi
}

# explained FOLDER: whatever is in it is in the README's table
explained() {
    local file name
    for file in "$1"/*; do
        name=${file##*/}
        [ -d "$file" ] && name=$name/
        name=${name/#ultraface_rfb320./MODEL.}
        name=${name/#resnet50_batch./MODEL.}
        [[ $name =~ \.[0-9a-f]{16}\.data$ ]] && name=FILE.onnx.HASH.data
        if ! grep -qF "\`$name\`" "$readme"; then
            echo "placement: $1 has $name, of which the README says nothing" >&2
            status=1
        fi
    done
    [ -s "$1/model.onnx" ] || status=1
}

# The graph, and its weights next to it.
make_resnet50() {
    local models=$source/tests/models
    cc -O2 -o bin/fill "$models/fill.c" -lm &&
        bin/fill "$models/skeleton/resnet50.fill" resnet50.bin &&
        cp "$models/skeleton/resnet50.onnx" . && return 0
    status=1
    return 1
}

has ort || exit $((status == 0 ? 77 : 1))
run run
explained tuned
explained tuned_by_groups
if make_resnet50; then
    export BATCH=2 BUDGET=90s
    run run-resnet50
    explained resnet50.tuned
    qdq inspect resnet50.tuned/model.onnx >out.txt
    if ! grep -q "x: float\[2,3,224,224\]" out.txt || ! grep -q "Q/DQ  *[1-9]" out.txt; then
        echo "placement: resnet50.tuned/model.onnx has another batch, or no Q/DQ" >&2
        cat out.txt >&2
        status=1
    fi
fi
run run-trtexec
explained on_trt_by_groups
if has openvino; then
    run run-openvino
    explained on_openvino_by_groups
fi
[ $status -eq 0 ] && [ $skipped -eq 1 ] && exit 77
exit $status
