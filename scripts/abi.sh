#!/bin/bash
# abi.sh BUILD [COMMIT] - what changed in the binary interface of libqdq.so since COMMIT, by
# abidiff: functions, and members of the structs in include/qdq. Without COMMIT: since the newest
# tag v*, or before the first release, since the commit in scripts/abi.base. QDQ_ABI=error makes a
# change an error, QDQ_ABI=report prints it only. The default is error against a tag, else report.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?the build folder}")
tag=$(git tag --list 'v*' --sort=-version:refname | head -n 1)
case ${QDQ_ABI:=$([ $# -gt 1 ] || [ -z "$tag" ] && echo report || echo error)} in
error | report) ;;
*) echo "abi: QDQ_ABI is '$QDQ_ABI', expected error or report" >&2; exit 2 ;;
esac
base=${2:-${tag:-$(<scripts/abi.base)}}
old=$build/abi/$(git rev-parse --short "$base^{commit}")
if [ ! -f "$old/build/libqdq.so" ]; then
    mkdir -p "$old/source"
    git archive "$base" cmake examples include src CMakeLists.txt | tar -x -C "$old/source"
    cmake -G Ninja -S "$old/source" -B "$old/build" --log-level=WARNING -Wno-dev -DQDQ_TESTS=OFF
    cmake --build "$old/build" -j "${JOBS:-$(nproc)}" -t qdq_shared
fi
echo "abi: changes since $base"
# Bits 4 and 8 of the status are changes; the others are failures of abidiff itself.
status=0
abidiff --no-added-syms --headers-dir1 "$old/source/include" --headers-dir2 include \
    "$old/build/libqdq.so" "$build/libqdq.so" || status=$?
[ $((status & 3)) -eq 0 ] || { echo "abi: abidiff failed" >&2; exit 1; }
[ $status -ne 0 ] || echo "abi: none"
if [ $status -ne 0 ] && [ "$QDQ_ABI" = error ]; then
    echo "abi: the binary interface changed since $base; expected no change (QDQ_ABI=report)" >&2
    exit 1
fi
