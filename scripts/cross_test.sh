#!/bin/sh
# cross_test.sh BUILD QEMU - run the unit tests of a build for another machine in QEMU, and say what
# does not run there. Ends like test.sh: "N passed, N failed, N skipped".
set -eu

cd "$(dirname "$0")/.."
build=$1 qemu=$2
say() { printf 'cross_test: %s\n' "$*"; }

command -v "$qemu" >/dev/null || { say "no $qemu, expected QEMU's programs for user mode" >&2
    echo "0 passed, 0 failed"; exit 1; }
version=$($qemu --version | sed -n '1s/.*version \([0-9]*\).*/\1/p')
if [ "${version:-0}" -lt 10 ]; then
    say "QEMU $version: without ONNX Runtime, whose library needs QEMU 10 to load"
    export QDQ_ORT_LIBRARY=/nonexistent
elif [ ! -e "$build/ort/libonnxruntime.so.1" ]; then
    say "without ONNX Runtime: there is none in $build/ort"
    export QDQ_ORT_LIBRARY=/nonexistent
fi
# A program under test starts others only where the kernel hands them to QEMU (binfmt_misc).
out=timed
if ! "$build/qdq" --version >/dev/null 2>&1; then
    say "without tests that start programs: this kernel does not run them" \
        "(Debian's package qemu-user-binfmt or binfmt-support)"
    out="$out|starts"
fi
say "without tests that have limits of time, and only unit tests: the command line, numbers, faults" \
    "and tools are tested on the machine that builds"
exec scripts/test.sh "$build" -L unit -LE "$out"
