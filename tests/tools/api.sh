#!/bin/bash
# api.sh SOURCE BUILD - the programs of docs/api.md compile without warnings against the public
# headers and do what they are there for: `<!-- run: NAME ARGUMENTS -->` before a block names it and
# says how it is run; several lines run it several times.
set -uo pipefail
page=$1/docs/api.md
source=$(realpath "$1") build=$(realpath "$2")
if grep -q '^QDQ_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then
    echo "api: skipped in a sanitizer build, whose run time a stranger's program lacks"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/qdq-api-XXXXXX")
trap 'rm -rf "$work"' EXIT
awk -v dir="$work" '
    /^<!-- run: / {split($0, word, " "); name = word[3]; sub(/^<!-- run: /, ""); sub(/ -->$/, ""); print > (dir "/runs"); next}
    /^```c$/ {if (name == "") {print "a block without a name" > "/dev/stderr"; exit 1} on = 1; next}
    /^```/ {on = 0; name = ""}
    on {print > (dir "/" name ".c")}' "$page" || exit 1

status=0 n=0
for program in "$work"/*.c; do
    cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$source/include" "$program" \
        -o "${program%.c}" \
        -L"$build" -lqdq -Wl,-rpath,"$build" || status=1
    n=$((n + 1))
done
[ $n -ge 5 ] || { echo "api: found $n programs in docs/api.md, expected 5" >&2; status=1; }
[ $status -eq 0 ] || exit 1

# Each header has its line.
for header in "$source"/include/qdq/*.h; do
    grep -qF "(../include/qdq/${header##*/})" "$page" ||
        { echo "api: docs/api.md lacks ${header##*/}" >&2; status=1; }
done

if [ -z "${QDQ_ORT_LIBRARY:-}" ]; then
    QDQ_ORT_LIBRARY=$(ls "$build"/ort/libonnxruntime.so* 2>/dev/null | head -1)
fi
if [ -z "$QDQ_ORT_LIBRARY" ]; then
    echo "SKIPPED: programs were compiled, but not run: ONNX Runtime is missing" >&2
    [ "${QDQ_TEST_REQUIRE:-}" = 1 ] && exit 1
    exit $((status == 0 ? 77 : 1))
fi
export QDQ_ORT_LIBRARY PATH=$build:$PATH
ln -s "$source/examples/ultraface/ultraface_rfb320.onnx" "$work/MODEL"
ln -s "$source/examples/ultraface/photos" "$work/PHOTOS"
ln -s "$source/tests/models/real/mnist.onnx" "$work/SMALL"
cd "$work" || exit 1
while IFS= read -r line; do
    # shellcheck disable=SC2086 # words of the page
    if ! ./$line >out.txt 2>err.txt </dev/null || ! [ -s out.txt ]; then
        echo "api: fails: $line" >&2
        cat out.txt err.txt >&2
        status=1
    fi
done <runs
for made in model.qdq.onnx model.opt.onnx tuned/model.onnx tuned_by_groups/model.onnx group.onnx; do
    qdq check "$made" >/dev/null || { echo "api: $made is not sound" >&2; status=1; }
done
exit $status
