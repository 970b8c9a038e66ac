#!/bin/bash
# old_callers.sh SOURCE BUILD - a program that was compiled against headers whose option structs lack
# their last member works with this libqdq, and options of a newer one are refused (old_caller.c).
set -uo pipefail
source=$(realpath "$1") build=$(realpath "$2")
if grep -qE '^QDQ_(SANITIZE|COVERAGE):BOOL=ON' "$build/CMakeCache.txt"; then
    echo "old_callers: skipped in an instrumented build, whose run time a stranger's program lacks"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/qdq-old-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include/qdq"
for header in "$source"/include/qdq/*.h; do
    awk '/^typedef struct qdq_([a-z_]*opts|job) \{/ { on = 1; n = last = 0 }
        on { line[n++] = $0; if (/;/ && !/^}/) last = n - 1 }
        !on { print }
        on && /^}/ { on = 0; for (i = 0; i < n; i++) if (i != last) print line[i] }' \
        "$header" >"$work/include/qdq/${header##*/}"
done
status=0
for kind in old new; do
    include=$source/include
    [ $kind = new ] || include=$work/include
    cc -std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -I"$include" "$source/tests/tools/old_caller.c" \
        -o "$work/$kind" -L"$build" -lqdq -Wl,-rpath,"$build" || exit 1
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
exit $status
