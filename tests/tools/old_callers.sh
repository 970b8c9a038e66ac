#!/bin/bash
# old_callers.sh SOURCE BUILD - a program that was compiled against headers whose option structs
# lack their last member works with this libqdq, options of a newer one are refused (old_caller.c),
# and an engine whose table lacks its last member works.
set -uo pipefail
source=$(realpath "$1") build=$(realpath "$2")
if grep -qE '^QDQ_(SANITIZE|COVERAGE):BOOL=ON' "$build/CMakeCache.txt"; then
    echo "old_callers: skipped in an instrumented build, whose run time a stranger's program lacks"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/qdq-old-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include/qdq"
compile() { # compile ARGUMENT...
    cc -std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror "$@" -L"$build" -lqdq -Wl,-rpath,"$build"
}
for header in "$source"/include/qdq/*.h; do
    awk '/^typedef struct qdq_([a-z]+_opts|fusion_extract_opts|tune_details|job|engine_plugin) \{/ {
            on = 1
            n = last = before = 0
        }
        on { line[n++] = $0; if (/;$/ && !/^}/) { before = last; last = n - 1 } }
        !on { print }
        on && /^}/ {
            on = 0
            for (i = 0; i < n; i++)
                if (i <= before || i > last) print line[i]
        }' "$header" >"$work/include/qdq/${header##*/}"
done
status=0
for kind in old new; do
    include=$source/include
    [ $kind = new ] || include=$work/include
    compile -I"$include" "$source/tests/tools/old_caller.c" -o "$work/$kind" || exit 1
    "$work/$kind" "$build/qdq-worker" "$source/tests/data/sim_basic.json" >"$work/$kind.txt" ||
        { echo "old_callers: $kind: status $?" >&2; cat "$work/$kind.txt" >&2; status=1; }
    folder=$(tail -n 1 "$work/$kind.txt")
    [[ $folder == /tmp/qdq-old-caller-* ]] && rm -rf "$folder"
done
# All but the structs whose last member lies in what is padding without it.
shorter=$(join <(grep ^qdq_ "$work/old.txt" | sort -u) <(grep ^qdq_ "$work/new.txt" | sort -u) |
    awk '$2 < $3' | wc -l)
if [ "$shorter" -lt 15 ]; then
    echo "old_callers: $shorter structs of the old headers are shorter, expected at least 15" >&2
    status=1
fi

# The example engine without its last function, in a table without that member.
sed '/\.layers = layers,/d; /opts.layers = /d' "$source/examples/engine_plugin.c" >"$work/engine.c"
compile -fPIC -shared -Wno-unused-function -I"$work/include" "$work/engine.c" \
    -o "$work/engine.so" ||
    exit 1
printf 'g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }\n' >"$work/m.onnxtxt"
spec=$work/engine.so:sim:$source/tests/data/sim_basic.json
if ! "$build/qdq" bench "$work/m.onnxtxt" -e "$spec" --rounds 6 >"$work/bench.txt" 2>&1; then
    echo "old_callers: an engine with fewer functions does not run" >&2
    cat "$work/bench.txt" >&2
    status=1
fi
if "$build/qdq" inspect --groups -e "$spec" "$work/m.onnxtxt" >"$work/groups.txt" 2>&1; then
    echo "old_callers: an engine without layers() gave layers" >&2
    status=1
elif [ $? -gt 5 ] || ! grep -q '^qdq: error: ' "$work/groups.txt"; then
    echo "old_callers: an engine without layers() does not say so: $(cat "$work/groups.txt")" >&2
    status=1
fi
exit $status
