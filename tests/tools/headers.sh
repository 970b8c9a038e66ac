#!/bin/bash
# headers.sh SOURCE BUILD - each header stands alone: public ones as strict C11 and C++17 with
# nothing but include/ in sight and inside a folder of any name, internal ones as C11. Twice,
# because of the guards. Public structs can grow.
set -euo pipefail
cd "$1"
bad=0
warn="-Wall -Wextra -Wpedantic -Werror"

# check WHAT COMPILER... HEADER
check() {
    local what=$1 header=${*: -1}
    if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "${@:2:$#-2}" -fsyntax-only - 2>"$work/log"; then
        echo "headers: $header does not stand alone as $what:"
        head -5 "$work/log"
        bad=1
    fi
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v c++ >/dev/null || echo \
    "headers: no C++ compiler here, the public headers are tried as C only"
for path in include/qdq/*.h; do
    header=${path#include/}
    check C11 cc -std=c11 $warn -Wstrict-prototypes -Iinclude -x c "$header"
    if command -v c++ >/dev/null; then
        check C++17 c++ -std=c++17 $warn -Iinclude -x c++ "$header"
    fi
    grep -q 'extern "C"' "$path" || [[ $header == qdq/qdq.h ]] || {
        echo "headers: $path has no extern \"C\""
        bad=1
    }
done
for path in src/*/*.h; do
    check C11 cc -std=c11 $warn -D_GNU_SOURCE -Isrc -Iinclude $(pkg-config \
        --cflags jansson libxxhash libzip) \
        -x c "${path#src/}"
done
for path in src/*/*.h include/qdq/*.h; do
    name=${path##*/}
    guard=QDQ_${name^^}
    grep -q "^#ifndef ${guard/./_}$" "$path" || {
        echo "headers: $path: its guard is not ${guard/./_}"
        bad=1
    }
done

# What would be a regret once the interface is frozen: arrays of a fixed length, but for the dims of
# a tensor, pixel units and the text of an error; and results in memory of the caller.
if grep -nE '\[[A-Za-z0-9_]+\][;,]' include/qdq/*.h |
    grep -vE '\[QDQ_MAX_RANK\]|mean\[4\], std\[4\]|text\[1000\]|reserved\[7\]'; then
    echo "headers: found arrays of a fixed length, expected a pointer and a count"
    bad=1
fi
if grep -nE '[ (]qdq_[a-z_]*(result|report|check) \*[a-z]+[,)]' include/qdq/*.h |
    grep -vE 'const qdq|_free\('; then
    echo "headers: found results in memory of the caller, expected qdq_... **out"
    bad=1
fi
exit $bad
